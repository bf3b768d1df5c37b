#!/usr/bin/env bash
# Build the Dockerfile and run compose.yaml for real, without Docker and without an image from anywhere: on a base of
# Debian's own packages, with podman. Prints what holds; ends with 1 at the first thing that does not.
#
#   scripts/try_dockerfile.sh [ARGUMENTS OF podman build, such as --build-arg LOCAL=true]
#
# Wants root on Debian or Ubuntu, with: debootstrap podman runc netavark aardvark-dns catatonit iptables, and
# podman-compose (pip install podman-compose). Takes a minute or two. From the environment:
#   BASE            folder to keep the base in, for the next time       (default: none is kept)
#   SUITE, MIRROR   Debian's release and where its packages are         (default: trixie, and debootstrap's own)
#   PODMAN_COMPOSE  podman-compose, where it is not on the path
set -euo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
suite=${SUITE:-trixie}
mirror=${MIRROR:-}
compose=${PODMAN_COMPOSE:-podman-compose}
token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
planted=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
owner=1234
container=commonplace_commonplace_1

for command in debootstrap podman runc "$compose"; do
    command -v "$command" >/dev/null || { echo "try_dockerfile: there is no $command" >&2; exit 1; }
done
((EUID == 0)) || { echo "try_dockerfile: only root can make a base with debootstrap" >&2; exit 1; }

folder=$(mktemp -d "${TMPDIR:-/var/tmp}/commonplace-trial.XXXXXX")
export CONTAINERS_CONF=$folder/containers.conf CONTAINERS_STORAGE_CONF=$folder/storage.conf BUILDAH_FORMAT=docker

leave() {
    local code=$?
    podman rm --all --force &>/dev/null || true
    podman network prune --force &>/dev/null || true
    # Podman keeps its storage mounted below itself.
    umount "$folder/storage/overlay" 2>/dev/null || true
    rm -rf --one-file-system "$folder"
    ((code == 0)) || echo "try_dockerfile: FAILED" >&2
}
trap leave EXIT

step() { printf '\n%s\n' "$*"; }
holds() { printf '  ok  %s\n' "$*"; }
fails() { printf '  NO  %s\n' "$*"; exit 1; }

# Podman tells on standard error that there is no systemd here.
quietly() { "$@" 2>>"$folder/noise"; }

# Wait up to $1 seconds until the command behind it succeeds; gives the seconds that it took.
within() {
    local most=$1 begun=$EPOCHREALTIME
    shift
    until "$@" &>/dev/null; do
        if ((${EPOCHREALTIME/[.,]/} - ${begun/[.,]/} > most * 1000000)); then return 1; fi
        sleep 0.1
    done
    awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'
}

cat >"$CONTAINERS_CONF" <<END
[containers]
default_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
[network]
network_backend = "netavark"
network_config_dir = "$folder/networks"
END
cat >"$CONTAINERS_STORAGE_CONF" <<END
[storage]
driver = "overlay"
graphroot = "$folder/storage"
runroot = "$folder/run"
END

# --- The base: what python:3.13-slim-trixie is, as far as the Dockerfile can tell. ---

image=$(sed -n 's/^ARG PYTHON_IMAGE=//p' "$project/Dockerfile")
base=${BASE:-$folder/base}
step "base: $image, made of Debian's $suite"
if [[ ! -d $base/usr ]]; then
    debootstrap --variant=minbase --include=ca-certificates,netbase,tzdata,python3,python3-pip,python3-venv \
        "$suite" "$base" ${mirror:+"$mirror"} >"$folder/debootstrap.log" || { tail "$folder/debootstrap.log"; exit 1; }
    chroot "$base" apt-get clean
    rm -rf "$base"/var/lib/apt/lists/* "$base"/usr/lib/python3*/EXTERNALLY-MANAGED
    ln -s /usr/bin/python3 "$base/usr/local/bin/python"
    ln -s /usr/bin/python3 "$base/usr/local/bin/python3"
    # Python's own image has no bytecode either.
    find "$base" -xdev -name __pycache__ -prune -exec rm -rf {} +
fi
tar -C "$base" -c . | quietly podman import -q \
    --change ENV=PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin - "docker.io/library/$image" >/dev/null
holds "$(chroot "$base" python3 -V)"

# --- The build, with secrets lying about where people have them. ---

step "build"
copy=$folder/project
mkdir -p "$copy"
# A file that was just removed is still in git's list.
git -C "$project" ls-files -coz --exclude-standard |
    tar -C "$project" --null -T - --ignore-failed-read -c 2>/dev/null | tar -C "$copy" -x
mkdir -p "$copy/config" "$copy/workspace/memory" "$copy/secrets" "$copy/bot/__pycache__"
for file in .env config.toml config/config.toml workspace/memory/MEMORY.md secrets/token bot/.env \
    requirements/.env docker/notes.txt memory/__pycache__/x.pyc; do
    mkdir -p "$(dirname "$copy/$file")"
    echo "$planted" >"$copy/$file"
done
begun=$SECONDS
# /etc/ssl/certs: a proxy on the way may have a certificate of its own.
podman build --isolation chroot --pull=never --volume /etc/ssl/certs:/etc/ssl/certs:ro "$@" \
    --tag localhost/commonplace_commonplace "$copy" &>"$folder/build.log" || { tail -40 "$folder/build.log"; exit 1; }
holds "built in $((SECONDS - begun)) s"
root=$(quietly podman image mount localhost/commonplace_commonplace)
if grep -rlsF "$planted" "$root"; then fails "a secret got into the image"; fi
holds "no secret, no note and no setting of the build's folder is in it"
site=$(echo "$root"/opt/commonplace/lib/python3*/site-packages)
[[ ! -e $site/pip && ! -e $root/usr/bin/g++ && ! -e $root/build ]] || fails "something of the build is left in it"
holds "no pip of its own, no compiler, nothing of the build"
without=$(find "$site" -name '*.py' -printf '%h %f\n' |
    while read -r place name; do compgen -G "$place/__pycache__/${name%.py}.cpython-*.pyc" >/dev/null || echo "$place/$name"; done)
[[ -z $without ]] || fails "without bytecode: $without"
holds "every module has its bytecode"

step "what is in it (MB)"
line() { awk -v name="$1" '{ sum += $1 } END { printf "%7.1f  %s\n", sum / 1024, name }'; }
du -sk "$base" | line "the base, as made here"
find "$root/usr" -name '*.cpython-*.pyc' -path '*/python3*' -printf '%k\n' | line "bytecode of the modules of Python itself"
du -sk "$root/opt/commonplace" | line "Commonplace and all that it uses, of that:"
(cd "$site" && du -sk -- adapters bot memory) | line "  Commonplace itself"
(cd "$site" && du -sk -- *) | sort -rn | awk '
    $2 ~ /^(adapters|bot|memory)$/ { next }
    $1 >= 1024 { printf "%7.1f    %s\n", $1 / 1024, $2; next }
    { rest += $1 }
    END { printf "%7.1f    what is smaller than 1 MB\n", rest / 1024 }'
quietly podman image unmount --all >/dev/null

# --- compose.yaml, as somebody uses it on the first day. ---

step "docker compose up"
house=$folder/house
mkdir -p "$house/config" "$house/workspace/memory" "$house/secrets"
cp -r "$copy/compose.yaml" "$copy/Dockerfile" "$house"
chown -R "$owner:$owner" "$house/workspace" "$house/config"
# PUBLISH without a port: any that is free.
printf "HOST_UID=%s\nHOST_GID=%s\nPUBLISH=127.0.0.1:\nCOMMONPLACE_ACCESS__OWNERS='[\"telegram:42\"]'\n" \
    "$owner" "$owner" >"$house/.env"
cd "$house"
up() { quietly "$compose" up -d --no-build >/dev/null </dev/null; }
inside() { quietly podman exec "$container" "$@" </dev/null; }
well() { quietly podman healthcheck run "$container"; }
address() { podman port "$container" 8321; }
reached() { curl -fsS -m 2 -o /dev/null "http://$(address)/healthz"; }
# Stop it, see that it ended by itself and in time.
ends() {
    local begun=$EPOCHREALTIME
    quietly podman stop --time 15 "$container" >/dev/null
    local took
    took=$(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
    [[ $(podman inspect "$container" --format '{{.State.ExitCode}}') == 0 ]] || fails "its exit code is not 0"
    awk -v t="$took" 'BEGIN { exit t > 10 }' || fails "it took $took s to end"
    holds "ended with 0 after $took s"
}

up || { cat "$folder/noise"; fails "it does not start"; }
took=$(within 30 well) || { podman logs "$container"; fails "it does not become well"; }
holds "well after $took s, says HEALTHCHECK"
if reached 2>/dev/null; then fails "it is reached from outside the container without a token"; fi
holds "without a token nobody outside the container reaches it"
[[ $(inside printenv COMMONPLACE_ACCESS__OWNERS) == '["telegram:42"]' ]] || fails "a list in .env does not arrive"
holds "a list in .env arrives as it is"

step "what it may do"
status=$(inside cat /proc/1/status)
for line in "Uid:	$owner	$owner	$owner	$owner" "CapEff:	0000000000000000" "CapBnd:	0000000000000000" \
    "NoNewPrivs:	1" "Seccomp:	2"; do
    grep -qF "$line" <<<"$status" || fails "no line $line in /proc/1/status"
done
holds "user $owner, no capability, no new privileges, filtered system calls"
for place in /x /opt/commonplace/x /usr/local/bin/x /config/x /workspace/x /etc/x; do
    if inside touch "$place"; then fails "$place can be written to"; fi
done
holds "the root file system and the settings are read-only"
inside sh -c 'printf "#!/bin/sh\n" >/tmp/x && chmod +x /tmp/x' || fails "/tmp cannot be written to"
if inside /tmp/x; then fails "what is written to /tmp can be run"; fi
holds "/tmp can be written to, and nothing is run from there"
holds "memory: $(inside sh -c 'cat /sys/fs/cgroup/memory*/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null' |
    head -1) bytes at most; now $(podman top "$container" args rss | awk '/commonplace run/ && !/init/ { print $NF }') resident"

step "talk, back up, end, restore; then another owner"
inside commonplace chat -m 'Remember that the tent is in the cellar' >/dev/null
inside commonplace chat -m 'Where is the tent?' | grep -q 'cellar' || fails "it does not find what it was told"
note=$(find workspace/memory -name '*.md')
[[ $(stat -c %u:%g "$note") == "$owner:$owner" ]] || fails "the note is not its owner's"
holds "what it is told is a file of user $owner on this machine: $(basename "$note")"
inside commonplace memory search tent | grep -q 'cellar' || fails "the command finds nothing"
holds "the command works beside it"
inside commonplace backup >/dev/null
quietly podman cp "$container:/workspace/.commonplace/backups" "$house/backups"
ends
rm "$note"
archive=$(basename "$house"/backups/*.tar.gz)
chown -R "$owner" "$house/backups"
quietly "$compose" run --rm --no-deps -v "$house/backups:/backups:ro" commonplace restore "/backups/$archive" </dev/null |
    sed 's/^/      /'
[[ -s $note ]] || fails "the note is not restored"
holds "restored, from an archive outside the container"
# As docs/docker.md has it for a volume whose files are somebody else's.
quietly podman run --rm --network none --user 0 --read-only --cap-drop ALL --cap-add CHOWN --cap-add DAC_READ_SEARCH \
    --volume commonplace_state:/workspace/.commonplace --entrypoint chown localhost/commonplace_commonplace \
    -R "$((owner + 1)):$owner" /workspace/.commonplace </dev/null || fails "the volume cannot be given to another user"
chown -R $((owner + 1)) "$house/workspace" "$house/config"
sed -i "s/^HOST_UID=.*/HOST_UID=$((owner + 1))/" .env
holds "all that is kept is given to user $((owner + 1)), who has it from here on"

step "with the page, its token a file, and settings"
printf '%s\n' "$token" >secrets/token
chown $((owner + 1)) secrets/token
printf '[server]\nport = 1\n[agent]\nname = "Butler"\n' >config/config.toml
cat >compose.override.yaml <<END
services:
  commonplace:
    secrets:
      - source: token
        target: COMMONPLACE_SERVER__TOKEN
secrets:
  token:
    file: ./secrets/token
END
quietly "$compose" down >/dev/null </dev/null
up || { cat "$folder/noise"; fails "it does not start"; }
took=$(within 30 reached) || { podman logs "$container"; fails "its port is not reached"; }
holds "reached from this machine after $took s"
# Every answer but that of the health check wants the token.
asked() { curl -s -m 5 -o /dev/null -w '%{http_code}' "$@" "http://$(address)/"; }
[[ $(asked) =~ ^(401|302|303|200)$ ]] || fails "/ without the token: $(asked)"
[[ $(asked -H "Authorization: Bearer $token") =~ ^(200|404)$ ]] || fails "/ with the token: $(asked -H "Authorization: Bearer $token")"
if podman logs "$container" 2>&1 | grep -F "$token"; then fails "the token is in the log"; fi
holds "/ wants the token: $(asked) without it, $(asked -H "Authorization: Bearer $token") with it; it is not in the log"
inside commonplace chat -m 'Where is the tent?' | grep -q 'cellar' || fails "after the restart nothing is found"
inside commonplace chat -m /start | grep -q Butler || fails "config.toml is not read"
holds "config.toml is read, and what was kept is there"
printf '[agent]\nname = "Steward"\n' >config/config.toml
quietly podman kill --signal HUP "$container" >/dev/null
within 5 sh -c "podman logs $container 2>&1 | grep -q agent.name" >/dev/null || fails "SIGHUP has it read nothing anew"
holds "SIGHUP has it read config.toml anew"
quietly podman kill --signal KILL "$container" >/dev/null
quietly podman start "$container" >/dev/null
took=$(within 30 reached) || fails "after a kill it does not come back"
inside commonplace chat -m 'Where is the tent?' | grep -q 'cellar' || fails "after the kill nothing is found"
holds "back $took s after it was killed, with all that it had"
ends

printf '\neverything holds\n'
