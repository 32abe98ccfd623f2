# Runs each kind of command in its own process; LeakSanitizer reports when the process ends.
#   cmake -DOVDE=program -DSOURCE=repository -DOUT=folder -P leak_check.cmake
function(run)
  execute_process(COMMAND ${OVDE} ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "ovde ${ARGV}: ${result}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${OUT})
set(tiny --set network.hidden=[16,16] --set train.batch=16 --set train.warmup_steps=50 --set train.steps_per_epoch=20
  --set train.eval_steps=100 --set checkpoint.epochs=1 --epochs 3)
run(list)
run(train --task GridChaos-v0:s --algo ovde_q ${tiny} --out ${OUT}/run)
run(train --task GridChaos-v0:s --algo doac --seeds 0-2 ${tiny} --out ${OUT}/population)
run(eval ${OUT}/run --json)
run(status ${OUT})
run(report ${OUT}/population)
run(inspect ${OUT}/run)
run(export ${OUT}/run)
run(study run ${SOURCE}/configs/paper/patterns.toml --smoke --jobs 2 --out ${OUT}/study)
run(study report ${SOURCE}/configs/paper/patterns.toml --out ${OUT}/study)
file(REMOVE_RECURSE ${OUT})
