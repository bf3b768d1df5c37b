import threading

from memory.progress import JobName, JobProgress, RunningJobs


def test_rate_and_time_left_follow_from_what_is_done() -> None:
    progress = JobProgress("embedding", done=30, total=120, seconds=10.0)
    assert progress.per_second == 3
    assert progress.seconds_left == 30


def test_at_the_start_there_is_no_estimate() -> None:
    assert JobProgress("embedding", done=0, total=120, seconds=4.0).seconds_left is None
    assert JobProgress("embedding", done=0, total=120, seconds=0.0).per_second == 0
    assert JobProgress("embedding", done=5, total=5, seconds=1.0).seconds_left == 0


def test_progress_before_the_first_clock_tick_is_accepted() -> None:
    progress = JobProgress("indexing", done=1, total=2, seconds=0.0)
    assert progress.per_second == 0
    assert progress.seconds_left is None


def test_a_job_without_anything_to_do_is_not_shown() -> None:
    jobs = RunningJobs()
    tell = jobs.tell("indexing")
    assert jobs.now() == ()
    tell(0, 0)
    assert jobs.now() == ()
    tell(1, 4)
    [shown] = jobs.now()
    assert (shown.job, shown.done, shown.total) == ("indexing", 1, 4)
    assert shown.seconds >= 0


def test_jobs_run_at_the_same_time_and_end_one_by_one() -> None:
    jobs = RunningJobs()
    jobs.tell("rebuilding")(1, 2)
    jobs.tell("embedding")(3, 4)
    assert {each.job: each.done for each in jobs.now()} == {"rebuilding": 1, "embedding": 3}
    jobs.end("rebuilding")
    jobs.end("rebuilding")
    assert [each.job for each in jobs.now()] == ["embedding"]


def test_a_restarted_job_begins_at_zero() -> None:
    jobs = RunningJobs()
    jobs.tell("indexing")(5, 10)
    jobs.tell("indexing")
    assert jobs.now() == ()


def test_one_thread_reports_while_another_reads() -> None:
    jobs = RunningJobs()
    over = threading.Event()
    faults: list[Exception] = []

    def work(job: JobName) -> None:
        try:
            while not over.is_set():
                tell = jobs.tell(job)
                for done in range(20):
                    tell(done, 20)
                jobs.end(job)
        except RuntimeError as error:  # a dict that changes during iteration
            faults.append(error)

    names: tuple[JobName, ...] = ("indexing", "rebuilding", "embedding")
    threads = [threading.Thread(target=work, args=(job,)) for job in names]
    for thread in threads:
        thread.start()
    for _ in range(5000):
        assert all(each.done <= each.total for each in jobs.now())
    over.set()
    for thread in threads:
        thread.join()
    assert faults == []
