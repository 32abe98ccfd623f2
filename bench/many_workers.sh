#!/usr/bin/env bash
# many_workers.sh PROGRAM LIBRARY [WORKERS CELLS]: so many workers at once on a study of tiny cells, on this machine. Every
# cell must be run once. Prints what that costs the file system: files of a cell, and calls on them, which LIBRARY counts
# (libovde_disk.so of tests/disk).
set -eu
ovde=$(realpath "$1") library=$(realpath "$2") workers=${3:-200} cells=${4:-1000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

{
  echo 'epochs = 1'
  echo 'set = { task.horizon = 10, network.hidden = [4], train.steps_per_epoch = 10, train.warmup_steps = 10, train.eval_steps = 10, train.batch = 4, train.replay = 20 }'
  for ((i = 0; i < cells; ++i)); do printf '[[row]]\nname = "r%d"\ntask = "GridChaos-v0:a"\nseeds = [%d]\n' $i $i; done
  printf '[[column]]\nname = "SAC"\nalgorithm = "sac"\n'
} >plan.toml

mkdir study calls
began=$(date +%s.%N)
for ((i = 0; i < workers; ++i)); do
  LD_PRELOAD=$library OVDE_DISK=$work/study OVDE_DISK_COUNT=$work/calls/$i \
    "$ovde" study work plan.toml --out "$work/study" --threads 1 --jobs 1 >log.$i 2>&1 &
done
failed=0
for job in $(jobs -p); do wait "$job" || failed=$((failed + 1)); done
seconds=$(echo "$(date +%s.%N) - $began" | bc)
cat log.* >log

done_once=$(grep -c ": finished in " log || true)
different=$(grep ": finished in " log | sort -u | cut -d: -f1 | sort -u | wc -l)
grep -h "^ovde:" log || true
echo "$workers workers, $cells cells, $seconds s: $done_once cells run to their end, $different different ones; $failed workers failed"
[ ! -e study/locks ] || echo "locks are left: $(ls study/locks | wc -l)"
files=$(find study -mindepth 3 -type f | wc -l)
calls=$(cat calls/* | paste -sd+ | bc)
echo "files per cell: $(echo "scale=1; $files / $cells" | bc); calls per cell: $(echo "scale=1; $calls / $cells" | bc)"
echo "calls per second of all workers together: $(echo "scale=0; $calls / $seconds" | bc)"
[ "$done_once" -eq "$cells" ] && [ "$different" -eq "$cells" ] && [ $failed -eq 0 ]
