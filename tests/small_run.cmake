# Arguments of `ovde train` for a run of a second.
set(small --set network.hidden=[16,16] --set train.batch=16 --set train.warmup_steps=50 --set train.steps_per_epoch=20
  --set train.eval_steps=200)
