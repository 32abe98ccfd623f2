#!/usr/bin/env bash
# slurm_cluster.sh PROGRAM SLURM_HERE: runs a study of twelve cells on a real Slurm with two emulated nodes, with failures of
# tasks, nodes and the controller. Every cell must finish with the same policies and tables as a run without Slurm.
#
# Prints "skipped: ..." if there is no Slurm, otherwise one line per successful check; exits with 1 at the first failure.
set -u
ovde=$1 slurm_here=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/ovde_slurm_XXXXXX")
cd "$work" || exit 1

reason=$("$slurm_here" start "$work/cluster" 2>&1 >/dev/null)
case $? in
0) ;;
3) echo "skipped: $reason"; rm -rf "$work"; exit 0 ;;
*) echo "no cluster: $reason"; cat "$work"/cluster/*.log; exit 1 ;;
esac
export SLURM_CONF=$work/cluster/slurm.conf
local_run=
trap '[ -z "$local_run" ] || kill "$local_run" 2>/dev/null; scancel --me --signal=KILL --full 2>/dev/null; scancel --me 2>/dev/null; "$slurm_here" stop "$work/cluster"; rm -rf "$work" 2>/dev/null' EXIT

fail() {
  echo "FAILED: $*"
  squeue --array
  scontrol show nodes
  "$ovde" study status plan.toml --out study
  tail -n 20 study/slurm/log/*.txt
  tail -n 100 cluster/slurmctld.log
  exit 1
}
holds() { echo "ok, after $SECONDS s: $*"; }
# waits until a command succeeds
await() {
  local what=$1
  shift
  for _ in $(seq 600); do
    "$@" >/dev/null 2>&1 && return
    sleep 0.1
  done
  fail "not within a minute: $what"
}

cat >plan.toml <<'PLAN'
title = "Twelve cells"
measures = ["score"]
epochs = 60
seeds = "0-1"
set = { task.horizon = 100, network.hidden = [32, 32], train.batch = 64, train.steps_per_epoch = 100, train.warmup_steps = 200, train.eval_steps = 100, checkpoint.epochs = 5 }
row = [{ name = "a", task = "GridChaos-v0:a", epochs = 150 }, { name = "b", task = "GridChaos-v0:b" }, { name = "c", task = "GridChaos-v0:c" }, { name = "d", task = "GridChaos-v0:d" }]
column = [{ name = "SAC", algorithm = "sac" }, { name = "DSAC", algorithm = "dsac" }, { name = "OVDE", algorithm = "ovde_g", role = "ours" }]
[slurm]
time = "1"          # minute
cpus = 1
save_seconds = 20
PLAN

# running tasks, "job_task node" each
running() { squeue --me --noheader --array --states=RUNNING --format="%F_%K %N" | grep -v N/A; }
runs_on() { running | grep -q " $1\$"; }
any_runs() { running | grep -q .; }
# sets `victim` to a task that has been running for a while
choose() {
  for victim in $(running | cut -d' ' -f1); do
    tail -n 1 "study/slurm/log/$victim.txt" | grep -q "updates/s" && return
  done
  false
}
# a task may finish before a signal reaches it; then the next one is tried
finished() { grep -q "^1 of 1 cell finished" "study/slurm/log/$1.txt"; }
has_trained() { grep -q . study/*/*/seed_0/progress.csv; }
submit() { "$ovde" study run plan.toml --on slurm --out study; }

# ---- the study is submitted once; queued cells are not submitted again
"$ovde" study run plan.toml --on slurm --out study --dry-run >script.sh || fail "dry run"
bash -n script.sh || fail "the script is none"
[ ! -e study ] || fail "a dry run writes"
submit >said || fail "submit"
grep -q "12 cells in 12 tasks" said || fail "$(cat said)"
submit | grep -q "nothing to submit" || fail "what is queued is submitted again"
holds "submitted once"
await "a cell is running" any_runs
await "an epoch is done" has_trained
"$ovde" study status plan.toml --out study >status
grep -Eq "running on .*job [0-9]+_[0-9]+" status || fail "status does not show what runs: $(cat status)"
grep -q "queued (job " status || fail "status does not show what waits: $(cat status)"
holds "status shows what runs where and what waits"

# ---- the controller is killed. It saves its state with a delay of up to five seconds, so no task may start meanwhile
scontrol update PartitionName=main State=DOWN
sleep 6
kill -KILL "$(cat cluster/slurmctld.pid)"
"$ovde" study status plan.toml --out study >status
grep -q "cells finished" status || fail "no status without the controller"
grep -q "the queue is unknown" status || fail "status does not say that the queue is unknown: $(cat status)"
"$slurm_here" controller "$work/cluster"
await "the controller is back" squeue
scontrol update PartitionName=main State=UP
holds "the controller died"

# ---- one task is cancelled and submitted again
gone() { ! squeue --me --noheader --array --format="%F_%K" | grep -qx "$victim"; }
while true; do
  await "a task is at work" choose
  scancel "$victim"
  await "$victim is cancelled" gone
  finished "$victim" || break
done
submit >said || fail "submit again"
grep -q "1 cell in 1 task," said || fail "not just the cancelled one: $(cat said)"
holds "a cancelled task is submitted again, alone"

# ---- one task gets the signal for its time limit
waits() { squeue --me --noheader --array --states=PENDING --format="%F_%K" | grep -qx "$victim"; }
waits_or_finished() { waits || finished "$victim"; }
while true; do
  await "a task is at work" choose
  scancel --batch --signal=USR1 "$victim" &
  teller=$!  # retries while the task changes its state
  await "$victim goes back into the queue" waits_or_finished
  kill $teller 2>/dev/null
  finished "$victim" || break
done
holds "near its limit a task goes back into the queue"

# ---- a node is set down and up again
await "a task runs on n1" runs_on n1
scontrol update NodeName=n1 State=DOWN Reason=test
sleep 1
scontrol update NodeName=n1 State=RESUME
holds "a node was set down"

# ---- a node is killed with all its processes
await "a task runs on n2" runs_on n2
kill -KILL "$(cat cluster/slurmd.n2.pid)"
for process in /proc/[0-9]*; do
  if tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qx SLURMD_NODENAME=n2 &&
    tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qx "SLURM_CONF=$SLURM_CONF"; then
    pid=${process#/proc/}
    parent=$(awk '/^PPid:/ { print $2 }' "$process/status")
    grep -q slurmstepd "/proc/$parent/comm" && kill -KILL "$parent"
    kill -KILL "$pid"
  fi
done 2>/dev/null
# meanwhile the same study runs without Slurm
"$ovde" study run plan.toml --out local >local.log 2>&1 &
local_run=$!
# from scontrol: sinfo counts allocated CPUs as they were at some earlier question, and by those calls a dead node mixed
is() { scontrol show node "$1" | grep -Eq "State=($2) "; }
await "the controller misses n2" is n2 "DOWN\+NOT_RESPONDING"
"$slurm_here" node "$work/cluster" n2
await "n2 is back" is n2 "IDLE|MIXED|ALLOCATED"
holds "a node died"

# ---- the study finishes with the same results
timeout 240 "$ovde" study run plan.toml --on slurm --out study --wait || fail "not all cells finished"
holds "every cell finished"
[ ! -e study/locks ] || fail "locks are left: $(ls study/locks)"
await "the report is written" test -s study/report.html

wait "$local_run" && "$ovde" study report plan.toml --out local >/dev/null || fail "local run: $(cat local.log)"
local_run=
"$ovde" study report plan.toml --out study >/dev/null || fail "report"
for file in $(cd local && find . -name "policy*.safetensors" -o -name "visits.f32" -o -path "./tables/*" ! -name runs.csv ! -name "runtime*"); do
  cmp -s "local/$file" "study/$file" || fail "$file differs"
done
# without the times of the runs
for file in $(cd local && find . -name progress.csv); do
  drop() { awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; ++i) time[i] = $i ~ /seconds|per_second/ } { for (i = 1; i <= NF; ++i) if (time[i]) $i = ""; print }' "$1"; }
  [ "$(drop "local/$file")" = "$(drop "study/$file")" ] || fail "$file differs"
done
holds "policies and tables are those of one machine, to the bit ($(find local -name policy.safetensors | wc -l) runs)"

# ---- a failed cell is shown and leaves the queue
sed 's/title = .*/title = "Fails"/; s/epochs = [1-9][0-9]\+/epochs = 2/' plan.toml >fails.toml
mkdir -p fails/a && touch fails/a/DSAC
"$ovde" study run fails.toml --on slurm --out fails --cells 'a/*' --wait >said 2>&1 && fail "a failure is not told"
"$ovde" study status fails.toml --out fails >status
grep -Eq "a / DSAC: failed on n[12]: " status || fail "the failure is not shown: $(cat status)"
grep -q "a / OVDE: finished" status || fail "the others are not finished: $(cat status)"
grep -Eq "^failed on n[12]: 1 cell" status || fail "the node is not shown: $(cat status)"
grep -q "ovde study run fails.toml --out fails --on slurm" status || fail "no command for what is left: $(cat status)"
holds "a cell that fails is shown with its node, and the others finish"
rm fails/a/DSAC
"$ovde" study run fails.toml --on slurm --out fails --cells 'a/*' --wait >said 2>&1 || fail "not finished: $(cat said)"
grep -q "1 cell in 1 task," said || fail "not just the failed one: $(cat said)"
"$ovde" study status fails.toml --out fails | grep -q "a / DSAC: finished" || fail "the failed cell is not retried"
holds "the same command submits the failed cell again, alone"

# ---- cancelling a study
sed 's/epochs = [1-9][0-9]\+/epochs = 100000/' plan.toml >long.toml
"$ovde" study run long.toml --on slurm --out long >/dev/null || fail "submit"
await "it runs" any_runs
"$ovde" study cancel long.toml --out long | grep -q "cancelled 12 tasks" || fail "cancel"
idle() { ! squeue --me --noheader --name=ovde-long | grep -q .; }
await "the queue is empty" idle
holds "a study is cancelled"
echo "the study came through"
