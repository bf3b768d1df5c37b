"""Explanations of model failures for people: plain words, without providers' own messages."""

from collections.abc import Iterable, Mapping, Sequence

from bot import phrases
from bot.models.errors import CutOff, ModelError, NoModelAnswered

_TRANSIENT_KINDS = frozenset(("rate_limit", "overloaded", "server", "timeout", "empty"))
"""Errors that may have passed when the model is asked again."""


def explain_no_answer(error: ModelError) -> str:
    """Return that no model answered, and why."""
    tries = error.tries if isinstance(error, NoModelAnswered) else (error,)
    models = list(dict.fromkeys(each.model for each in tries))
    if len(models) > 1:
        reasons = phrases.LIST_MARK.join(_explain_tries(tries, model) for model in models)
        return phrases.NO_MODEL_ANSWERED.format(reasons=reasons)
    return phrases.NO_ANSWER.format(reason=_reason_of(tries[-1]) if tries else reason_text(""))


def explain_fallback(model: str, tries: Sequence[ModelError], *, prefer: str, to_be_told: bool) -> str:
    """Return that another model answered than expected, and why; "" if nobody needs to know.

    People need to know if they had chosen a model (`prefer`), or if `to_be_told`: shown text was replaced, or the
    answer is from the built-in notebook.
    """
    failed = [name for name in dict.fromkeys(each.model for each in tries) if name != model]
    if not failed or not (to_be_told or prefer in failed):
        return ""
    last = {name: [each for each in tries if each.model == name][-1] for name in failed}
    told = phrases.LIST_MARK.join(map(_explain_failure, last.values()))
    is_notebook, hint = model.startswith("builtin/"), ""
    if is_notebook:
        passes = all(each.kind in _TRANSIENT_KINDS or isinstance(each, CutOff) for each in last.values())
        hint = phrases.HINT_RETRY if passes else phrases.HINT_DOCTOR
    name = phrases.BUILTIN_NOTEBOOK if is_notebook else model
    return phrases.ANSWERED_INSTEAD.format(failed=told, model=name, hint=hint)


def explain_all_failing(failing: Mapping[str, str], *, is_owner: bool) -> str:
    """Return that the latest call of every model failed, why, and what to do; `failing`: kinds of errors by model."""
    reasons = phrases.LIST_MARK.join(
        phrases.MODEL_REASON.format(model=model, reason=reason_text(kind)) for model, kind in failing.items()
    )
    phrase = phrases.STATUS_NO_MODEL if is_owner else phrases.STATUS_NO_MODEL_FOR_OTHERS
    return phrase.format(reasons=reasons)


def reason_text(kind: str) -> str:
    """Return the text for a kind of error."""
    return phrases.MODEL_ERRORS.get(kind, phrases.MODEL_ERRORS[""])


def _explain_tries(tries: Iterable[ModelError], model: str) -> str:
    *_, last = (each for each in tries if each.model == model)
    return phrases.MODEL_REASON.format(model=model, reason=_reason_of(last))


def _explain_failure(error: ModelError) -> str:
    """Return a clause that says which model failed, and how."""
    kinds = phrases.MODEL_FAILED
    phrase = phrases.MODEL_STOPPED_EARLY if isinstance(error, CutOff) else kinds.get(error.kind, kinds[""])
    return phrase.format(model=error.model)


def _reason_of(error: ModelError) -> str:
    told = phrases.STOPPED_EARLY if isinstance(error, CutOff) else reason_text(error.kind)
    return phrases.REASON_AND_FIX.format(reason=told, fix=error.fix) if error.fix else told
