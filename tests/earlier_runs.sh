#!/usr/bin/env bash
# earlier_runs.sh PROGRAM ARCHIVE...: runs, a study and exports that released versions made are opened, resumed, reported and
# verified by this build. Exits with 1 at the first failure.
#
# earlier_runs.sh --make PROGRAM ARCHIVE: makes the archive of a version, before it is released.
set -u -o pipefail
make=
[ "$1" != --make ] || { make=yes; shift; }
program=$(realpath "$1")
shift
work=$(mktemp -d "${TMPDIR:-/tmp}/ovde_earlier_XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
ovde() { "$program" "$@" >"$work/log" 2>&1 || fail "ovde $*: $(cat "$work/log")"; }

if [ -n "$make" ]; then
  archive=$(realpath "$1")
  robots=$(realpath "$(dirname "$0")/../configs/robots")
  mkdir "$work/runs" && cd "$work/runs" || exit 1
  small="--set task.horizon=40 --set network.hidden=[8] --set train.batch=8 --set train.steps_per_epoch=40 --set train.warmup_steps=40 --set train.eval_steps=40 --set train.replay=400"
  for algorithm in sac ovde_g td3 tqc; do
    ovde train --task GridChaos-v0:s --algo $algorithm --epochs 3 --out $algorithm $small
  done
  ovde train --task GridChaos-v0:s --algo scout --epochs 3 --out scout $small --set scout.hidden=[8] --set record.networks=[]
  ovde train --task GridChaos-v0:s --algo dsac --seeds 0-2 --epochs 3 --out population $small
  ovde train --task NoisyHopper-v4 --algo ovde_q --epochs 3 --out hopper $small --set delay.observation=1 --set sensor.noise=0.1
  ovde train --task GridChaos-v0:s --algo flashsac --epochs 3 --out flashsac ${small/network.hidden=\[8\]/network.width=8} --set network.actor_width=8 --set network.expansion=2
  ovde train --task "$robots/balancer.toml" --algo dsac --epochs 3 --out balancer $small
  # interrupted: only its checkpoints and what belongs to them
  "$program" train --task GridChaos-v0:s --algo ovde_g --epochs 300 --out interrupted $small --set checkpoint.epochs=1 >/dev/null 2>&1 &
  while [ ! -e interrupted/progress.csv ] || [ "$(wc -l <interrupted/progress.csv)" -lt 3 ]; do sleep 0.1; done
  kill -INT $!
  wait $!
  cat >plan.toml <<'PLAN'
epochs = 2
seeds = "0-1"
set = { task.horizon = 40, network.hidden = [8], train.batch = 8, train.steps_per_epoch = 40, train.warmup_steps = 40, train.eval_steps = 40, train.replay = 400 }
row = [{ name = "s", task = "GridChaos-v0:s" }]
column = [{ name = "SAC", algorithm = "sac" }, { name = "OVDE", algorithm = "ovde_g", role = "ours" }]
PLAN
  ovde study run plan.toml --out study
  ovde export sac --out sac.c
  ovde export hopper --out hopper.onnx
  ovde export hopper --out hopper.safetensors
  tar -C "$work" --exclude=lock -czf "$archive" runs
  exit 0
fi

[ $# -gt 0 ] || fail "no archives"
for archive; do
  rm -rf "$work/runs"
  tar -C "$work" -xzf "$archive" || fail "$archive"
  cd "$work/runs" || exit 1
  ovde status .
  # finished runs are evaluated, exported and trained for longer
  for run in sac ovde_g scout td3 tqc flashsac hopper balancer population; do
    ovde eval $run --episodes 2
    ovde export $run --out new/$run.c
    ovde train --resume $run --epochs 5
  done
  ovde train --resume interrupted
  [ "$(wc -l <interrupted/progress.csv)" -eq 301 ] || fail "$archive: the interrupted run has not continued"
  # exports are still those of their policies
  for file in sac.c hopper.onnx hopper.safetensors; do ovde verify $file; done
  ovde compare sac ovde_g
  ovde study status plan.toml --out study
  ovde study report plan.toml --out study
  sed 's/epochs = 2/epochs = 4/' plan.toml >longer.toml
  ovde study run longer.toml --out study
  echo "$(basename "$archive"): opened, resumed, reported and verified"
done
