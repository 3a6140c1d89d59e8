#!/usr/bin/env bash
# --device on a machine without a GPU: cpu and auto give the same bytes, gpu is refused with a sentence, and --version --verbose
# says what there is. With a GPU: tools/check-gpu.
. "$(dirname "$0")/lib.inc"

expect_ok "$epiq" --version --verbose
check 'a line about the GPU' says "$out" '^GPU: '
if ! says "$out" '^GPU: none'; then
    echo "SKIPPED: there is a GPU"
    finish
fi
"$epiq" synth 1 --n 60 --d 2 >rows.csv
quick=(--target y --at mean --engine infinite --methods if,ev)
for device in cpu auto; do
    expect_ok "$epiq" estimate rows.csv "${quick[@]}" --device $device --csv $device.csv
done
check 'auto without a GPU is the processor' cmp cpu.csv auto.csv
refused() { # refused DEVICE: exit 1, with a sentence that names it
    "$epiq" estimate rows.csv "${quick[@]}" --device "$1" 2>"$err"
    [ $? -eq 1 ] && says "$err" "^epiq: --device .*$1"
}
check 'gpu without one is refused' refused gpu
check 'another word too' refused tpu

# predictions: the same bytes, and the same refusals
expect_ok "$epiq" fit rows.csv --target y --methods ev,if --width 16 --lambda 1e-3 --members 3 --quiet -o model
for device in cpu auto; do
    expect_ok "$epiq" predict model rows.csv --device $device --quiet -o $device.csv
done
check 'predict: auto without a GPU is the processor' cmp cpu.csv auto.csv
refused_rows() {
    "$epiq" predict model rows.csv --device "$1" 2>"$err"
    [ $? -eq 1 ] && says "$err" "^epiq: --device .*$1"
}
check 'predict: gpu without one is refused' refused_rows gpu
check 'predict: another word too' refused_rows tpu

# every verb asks the same library: one that cannot be loaded, beside a copy of the command
mkdir beside
cp "$epiq" beside/epiq
echo "no library" >beside/libepiq_cuda.so
beside/epiq estimate rows.csv "${quick[@]}" --device gpu 2>estimate.err
beside/epiq study table1 --quick --device gpu --threads 1 2>study.err
check 'its sentence is not that of a plain build' says estimate.err 'driver|cannot be loaded'
check 'studies say the same' cmp estimate.err study.err
finish
