#!/usr/bin/env bash
# one_agent.sh [PROGRAM [DEVICE]]: environment steps a second of the whole training of one agent on HalfCheetah-v4, one
# update a step, as LeanRL and SBX publish them. At most 20 s each. The figure is that of the epochs after
# the first (start and warm-up) and before the last (evaluation); progress.csv has the seconds at the end of each epoch.
set -eu
ovde=${1:-build/ovde} device=${2:-cuda}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

measure() {  # ALGORITHM EPOCHS: epochs of 2,500 steps
  local out=$work/$1
  if ! timeout 20 "$ovde" train --task HalfCheetah-v4 --algo "$1" --seed 0 --device "$device" --epochs "$2" \
      --set train.steps_per_epoch=2500 --set train.warmup_steps=2500 --set train.eval_epochs=1000 --out "$out" >"$out.log" 2>&1; then
    echo "$1: stopped or failed: $(tail -1 "$out.log")"
  fi
  [ ! -e "$out/progress.csv" ] || awk -F, -v algorithm="$1" -v device="$device" '
    NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
    { step[NR - 1] = $at["env_steps"]; update[NR - 1] = $at["updates"]; second[NR - 1] = $at["seconds"] }
    END {
      last = NR - 2  # without the last epoch
      if (last < 2) { print algorithm ": too few epochs"; exit }
      took = second[last] - second[1]
      printf "{\"what\": \"train\", \"algorithm\": \"%s\", \"device\": \"%s\", \"steps\": %d, \"seconds\": %.3f, ", \
        algorithm, device, step[last] - step[1], took
      printf "\"steps_per_second\": %.1f, \"updates_per_second\": %.1f}\n", \
        (step[last] - step[1]) / took, (update[last] - update[1]) / took
    }' "$out/progress.csv"
}

"$ovde" --version | head -1
measure sac 25
measure dsac 25
measure flashsac 8
