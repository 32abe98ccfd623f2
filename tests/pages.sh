#!/usr/bin/env bash
# pages.sh SOURCE PROGRAM EXAMPLES WORK: runs the commands of README and docs, page by page, in a folder with the runs and files
# that the pages mention. EXAMPLES is the folder of the built examples.
#
# A command is a line of a code block that matches `is_command`. A wrapper around `ovde` makes it small: few epochs, small
# networks, two seeds, no GPU, studies with --smoke, and two cells of the large plans of docs/results. Commands that cannot run here
# are listed in `left_out` with the reason; any other command must succeed.
set -euo pipefail
source=$1 program=$2 examples=$3 work=$4

is_command='^(build/|build-[a-z]+/|scripts/|cmake |ctest |ovde |parallel |for |sbatch |c[+][+] |export |pip |python3 )'
left_out() {
  case $1 in
    scripts/power*) return 1 ;;
    scripts/* | cmake\ * | ctest\ * | build/tests/* | build-fuzz/*) echo "builds or runs the tests" ;;
    parallel\ * | for\ * | sbatch\ * | *slurm* | "ovde study cancel"*) echo "needs other machines or Slurm, or is a loop over several lines" ;;
    *--video*) echo "needs EGL; tested by tests/study/report/video_test.cpp" ;;
    *"ovde serve"* | *" --serve"*) echo "serves until it is stopped" ;;
    "ovde study import"*" --as "* | "ovde study import"*.csv) echo "needs a file of another program; tested by tests/study/execute/import_runs_test.cpp" ;;
    *"| parallel "*) ! command -v parallel >/dev/null && echo "needs GNU parallel; tested by tests/gnu_parallel.sh" ;;
    *" back/"*) echo "needs runs of other machines; tested by tests/gnu_parallel.sh" ;;
    *"bench "*"--device cuda"*) echo "measures a GPU" ;;
    *runs/real*) echo "trains for hours; tested by tests/cli/stress_test.cpp" ;;
    "build/ovde bench train"* | "build/ovde bench checkpoint"*) echo "takes minutes; tested by tests/bench" ;;
    export\ * | pip\ * | python3\ * | c++\ *) echo "tested by the tests of Python and of the installed package" ;;
    *) return 1 ;;
  esac
}

rm -rf "$work"
mkdir -p "$work/bin" "$work/pages"

# the wrapper that makes commands small
cat >"$work/bin/ovde" <<SMALL
#!/usr/bin/env bash
program=\${OVDE_REAL:-$program}
args=() resume= last=
for a in "\$@"; do
  case \$last in
    --epochs) [ "\$1" = train ] && { [ -n "\$resume" ] && a=4 || a=2; } ;;
    --seeds) a=0-1 ;;
    --episodes) a=2 ;;
    --population) a=2 ;;
    --steps) [ "\$1" = inspect ] && a=10-60 ;;
    --device) a=cpu ;;
  esac
  [ "\$a" = --resume ] && resume=1
  args+=("\$a"); last=\$a
done
tiny=(--set network.hidden=[8,8] --set train.batch=8 --set train.warmup_steps=30 --set train.steps_per_epoch=20)
if [[ " \$* " == *task.horizon* ]]; then tiny+=(--set train.eval_steps=250); else tiny+=(--set train.eval_steps=20 --set task.horizon=20); fi
case "\$1 \${2:-}" in
  train*) [ -n "\$resume" ] || args+=("\${tiny[@]}"); [[ " \$* " == *" --epochs "* ]] || args+=(--epochs \$((resume ? 4 : 2))) ;;
  "study run" | "study work" | "study import")
    [[ " \$* " == *" --smoke "* ]] || args+=(--smoke)
    [[ \$PWD != */docs_results_* || " \$* " == *" --cells "* ]] || args+=(--cells 0-1) ;;
  "study report") [[ " \$* " != *" --runs runs/"* ]] || args+=(--smoke) ;;  # a table of smoke runs
  stress*) [[ " \$* " == *" --episodes "* ]] || args+=(--episodes 2) ;;
  "bench env") ;;
  bench*) args+=(--set "network.hidden=[8,8]" --set train.batch=8) ;;
esac
exec "\$program" "\${args[@]}"
SMALL
sed 's/^program=.*/program=$OVDE_EXAMPLES\/custom_env/' "$work/bin/ovde" >"$work/bin/custom_env"
chmod +x "$work/bin/ovde" "$work/bin/custom_env"
export PATH=$work/bin:$PATH OVDE_EXAMPLES=$examples OVDE_BENCH_SHORT=1

# runs and a plan that the pages mention
mkdir -p "$work/before/build" "$work/before/build-examples" "$work/before/runs" "$work/before/shared" "$work/before/controller"
cd "$work/before"
cp -r "$source"/{configs,docs,scripts} .  # some commands write there
mkdir -p src/env tests/data
cp -r "$source/src/env/models" src/env
cp -r "$source/tests/data/mujoco" tests/data
ln -s "$work/bin/ovde" build/ovde
ln -s "$work/bin/custom_env" build-examples/custom_env
ln -s "$examples/control_loop" build-examples/control_loop
cp "$source/configs/small_study.toml" my.toml
for algo in dsac ovde_g ovde_q; do ovde train --task GridChaos-v0:s --algo $algo --seeds 0-1 --out runs/$algo; done >/dev/null
ovde train --task GridChaos-v0:s --algo ovde_g --seeds 0-1 --out runs/GridChaos-v0-s-ovde_g-0-49 >/dev/null
ovde train --task GridChaos-v0:s --algo ovde_g --set task.horizon=50 >/dev/null
ovde train --task Hopper-v4 --algo dsac --seeds 0-1 --out runs/cheetah >/dev/null
cp -r runs/cheetah runs/valve
ovde study run my.toml --out shared/my >/dev/null

ran=0 skipped=0 failed=0 power=
pages=$(cd "$source" && find README.md docs -name '*.md' | sort)
for page in $pages; do
  commands=$(awk '/^ *```/ {fence = !fence; next} (!fence && /^    [^ ]/) || fence {sub(/^    /, ""); print}' "$source/$page" |
    grep -E "$is_command" || true)
  [ -n "$commands" ] || continue
  here=$work/pages/${page//\//_}
  cp -r "$work/before" "$here"
  cd "$here"
  # the plan printed on the page
  case $page in docs/tutorial.md) awk '/^```toml/ {on = 1; next} /^```/ {on = 0} on' "$source/$page" >valve.toml ;; esac
  while IFS= read -r command; do
    command=${command%%  #*}
    if reason=$(left_out "$command"); then
      skipped=$((skipped + 1))
      continue
    fi
    # reads only files of the repository: runs once, whichever page prints it
    if [[ $command == scripts/power* ]]; then
      read -r key <<<"$command"
      [[ $power != *"<$key>"* ]] || continue
      power+="<$key>"
    fi
    # placeholders on the pages
    run=${command//\/shared\//shared/}
    run=${run//DIR/runs\/GridChaos-v0-s-ovde_g-0}
    run=${run//--epochs 874,1249/--epochs 0,1}
    run=${run//--out runs\/my elsewhere\/piece_1 elsewhere\/piece_2/--out runs\/merged shared\/my}
    # a new run must not exist already
    out=$(sed -nE 's/.* (train|study run) .*--out ([^ ]+).*/\2/p' <<<"$run")
    [[ -z $out || $run == *--resume* ]] || rm -rf "$out"
    if timeout 120 bash -c "$run" >"$here/said" 2>&1 </dev/null; then
      ran=$((ran + 1))
    else
      failed=$((failed + 1))
      echo "$page: $command"
      tail -n 3 "$here/said" | sed 's/^/    /'
    fi
  done <<<"$commands"
  if [ "$page" = docs/runs.md ] && python3 -c 'import numpy' 2>/dev/null; then
    awk '/^```python/ {on = 1; next} /^```/ {on = 0} on' "$source/$page" >read.py
    echo 'assert len(steps) == len(returns) == 2 and visits.shape[1] == 2 and "actor.0.weight" in tensors' >>read.py
    python3 read.py || { failed=$((failed + 1)); echo "$page: its Python code"; }
  fi
done
echo "$ran commands ran, $skipped left out, $failed failed"
[ "$failed" -eq 0 ] && [ "$ran" -gt 30 ]
