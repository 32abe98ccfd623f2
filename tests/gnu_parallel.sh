#!/usr/bin/env bash
# gnu_parallel.sh PROGRAM: the recipes of docs/clusters.md for GNU parallel. All processes of the first are killed several times
# while it runs; in the second a stand-in for ssh gives each machine a folder of its own, and one machine fails. Both must end with
# the policies of a study that ran undisturbed.
#
# Prints "skipped: ..." where GNU parallel is not installed; exits with 1 at the first failure.
set -u -o pipefail
program=$(realpath "$1")
page=$(realpath "${0%/*}/../docs/clusters.md")
parallel --version 2>/dev/null | grep -q "GNU parallel" || { echo "skipped: GNU parallel is not installed (Debian: parallel)"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/ovde_parallel_XXXXXX")
cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
mkdir bin && ln -s "$program" bin/ovde
export PATH=$work/bin:$PATH HOME=$work PARALLEL_HOME=$work/.parallel
mkdir -p "$PARALLEL_HOME" && touch "$PARALLEL_HOME/will-cite"

cat >my.toml <<'PLAN'
epochs = 20
seeds = "0-1"
set = { task.horizon = 40, network.hidden = [16], train.batch = 16, train.steps_per_epoch = 40, train.warmup_steps = 40, train.eval_steps = 40, checkpoint.epochs = 2 }
row = [{ name = "a", task = "GridChaos-v0:a" }, { name = "b", task = "GridChaos-v0:b" }]
column = [{ name = "SAC", algorithm = "sac" }, { name = "OVDE", algorithm = "ovde_g", role = "ours" }]
PLAN
policies() { (cd "$1" && find . -name policy.safetensors | sort | xargs sha256sum); }
ovde study run my.toml --out whole >/dev/null || fail "the undisturbed study"

# ---- one machine
recipe='ovde study cells my.toml --out runs/my --threads 1 | parallel --jobs 2'
grep -qF "$recipe" "$page" || fail "docs/clusters.md has another recipe"
for round in 1 2 3; do
  setsid bash -c "$recipe" >log 2>&1 &
  group=$!
  sleep "0.$((RANDOM % 9 + 1))"
  kill -KILL -- -$group 2>/dev/null
  wait $group 2>/dev/null
done
bash -c "$recipe" >log 2>&1 || fail "$(cat log)"
[ "$(policies runs/my)" = "$(policies whole)" ] || fail "policies differ after kills"
[ -z "$(ovde study cells my.toml --out runs/my)" ] || fail "cells are left"
echo "one machine: killed three times, and finished with the same policies"

# ---- machines that share no folder
cat >bin/ssh <<'SSH'
#!/bin/bash
# ssh MACHINE -- COMMAND: runs the command with a home folder of that machine, and with SHELL set as by sshd. A machine that is down answers only after another one
# has run a command, so that it cannot take all cells first.
machine=$1
shift
[ "$1" != -- ] || shift
if [ -e "$WORK/$machine.down" ]; then
  for ((wait = 0; wait < 600; ++wait)); do [ -e "$WORK/ran" ] && break; sleep 0.1; done
  exit 255
fi
export HOME=$WORK/$machine SHELL=/bin/bash
cd && bash -c "$*"
code=$?
touch "$WORK/ran"
exit $code
SSH
chmod +x bin/ssh
export WORK=$work PARALLEL_SSH=$work/bin/ssh
rm -rf runs
for n in n1 n2; do mkdir -p $n/study && cp my.toml $n/study; done
recipe='ovde study cells my.toml --out runs/my | parallel --sshlogin n1,n2 --workdir study'
grep -qF "$recipe" "$page" || fail "docs/clusters.md has another recipe"
back() { for n in n1 n2; do mkdir -p back && cp -rT $n/study/runs/my back/$n 2>/dev/null; done; }
touch n2.down
bash -c "$recipe --jobs 1" >log 2>&1 && fail "a machine that is down is not noticed"
back
ovde study import my.toml --out runs/my back/* >log 2>&1 || fail "$(cat log)"
left=$(ovde study cells my.toml --out runs/my | wc -l)
[ "$left" -gt 0 ] && [ "$left" -lt 4 ] || fail "$left cells are left"
rm n2.down
bash -c "$recipe --jobs 1" >log 2>&1 || fail "$(cat log)"
back
ovde study import my.toml --out runs/my back/* >log 2>&1 || fail "$(cat log)"
[ -z "$(ovde study cells my.toml --out runs/my)" ] || fail "cells are left"
ovde study report my.toml --out whole >/dev/null && ovde study report my.toml --out runs/my >/dev/null || fail "no report"
cmp whole/tables/score.md runs/my/tables/score.md || fail "the tables differ"
echo "two machines: one was down, and the merged study has the same table"
