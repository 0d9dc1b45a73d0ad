#!/bin/sh
# What is done on the machine with the accelerator. It has no network: everything comes in parcels (lab/training/carry.py).
#   sh lab/training/device.sh arrive .cache/carry/000     take a parcel; the first has wheels and data, the others weights
#   sh lab/training/device.sh start 0.5b 1,2,3 800 280    begin a campaign in the background: model, seeds, steps of a seed,
#                                                     seconds of a seed at most
#   sh lab/training/device.sh sweep 0.5b 120 "rate=4e-4; rate=2e-4,dropout=0.1"    begin to compare recipes: seconds each
#                                                     (TREADLE_RECIPE=... for `start`)
#   sh lab/training/device.sh base 0.5b product,direct own,dev,test    begin to evaluate the model without an adapter, in these
#                                                     ways (product: as the product asks it), on these sets
#   sh lab/training/device.sh old 0.5b own,later          begin to evaluate the adapter that was shipped before (old/ of a parcel)
#   sh lab/training/device.sh look "$OUT" [0.5b ...]      how far it is, and what is finished and was not sent yet
set -eu
HOME_THERE=${TREADLE_DEVICE_HOME:-$HOME/treadle-training}
PYTHON=${PYTHON:-python3}
VERSION=10  # of the adapters that are trained
export PYTHONPATH="$HOME_THERE/wheels:src:lab" PYTHONUNBUFFERED=1
unpack() { $PYTHON -c "import lzma,sys;open(sys.argv[2],'wb').write(lzma.open(sys.argv[1]).read())" "$1" "$2"; }
weights() { echo "$HOME_THERE/weights/$1.gguf"; }
# Where the results of a work go, and a copy to work in: the next call writes the working tree again while it runs.
aside() {
  out=$HOME_THERE/out/$1
  tree=$HOME_THERE/tree-$1
  rm -rf "$tree" && mkdir -p "$out" "$tree" && cp -r src lab "$tree/" && cd "$tree"
}

case $1 in
arrive)
  mkdir -p "$HOME_THERE/wheels" "$HOME_THERE/weights" "$HOME_THERE/out"
  for wheel in "$2"/*.whl; do [ -e "$wheel" ] && $PYTHON -m zipfile -e "$wheel" "$HOME_THERE/wheels"; done || true
  for data in "$2"/data/*; do [ -e "$data" ] && cp -r "$data" "$HOME_THERE/"; done || true
  for folder in "$2"/pieces/*; do
    [ -e "$folder" ] || continue
    name=$(basename "$folder")
    mkdir -p "$HOME_THERE/pieces/$name" && cp "$folder"/* "$HOME_THERE/pieces/$name/"
    $PYTHON -m training.pieces join "$HOME_THERE/pieces/$name" "$(weights "$name")"
  done
  ;;
start)
  aside "$2"
  # What a parcel brought: the adapter that was shipped before, and one to go on from.
  for kind in old begin; do
    [ ! -e "$HOME_THERE/$kind/$2.gguf.xz" ] || unpack "$HOME_THERE/$kind/$2.gguf.xz" "$HOME_THERE/$kind-$2.gguf"
  done
  # A session of its own: it goes on when this command returns.
  setsid $PYTHON -m training.campaign run "$(weights "$2")" "$out" --name "treadle-$2-$VERSION" --seeds "$3" --steps "$4" --seconds "$5" \
    --old "$HOME_THERE/old-$2.gguf" --begin "$HOME_THERE/begin-$2.gguf" --held "$HOME_THERE/held.jsonl.xz,$HOME_THERE/sideways-held.jsonl.xz,$HOME_THERE/listings-held.jsonl.xz" --batch "${TREADLE_BATCH:-16384}" --recipe "${TREADLE_RECIPE:-}" \
    --data "$HOME_THERE/conversations-{seed}.jsonl.xz" --bfcl "$HOME_THERE/bfcl" --test >>"$out/start.log" 2>&1 </dev/null &
  sleep 2
  echo "started $2"
  ;;
sweep)
  aside "$2-sweep"
  setsid $PYTHON -m training.sweep "$(weights "$2")" "$out" --seconds "$3" --recipes "$4" --batch "${TREADLE_BATCH:-16384}" \
    --data "$HOME_THERE/conversations-1.jsonl.xz" --held "$HOME_THERE/held.jsonl.xz" >>"$out/train.log" 2>&1 </dev/null &
  sleep 2
  echo "started $2-sweep"
  ;;
old)
  aside "$2-old"
  unpack "$HOME_THERE/old/$2.gguf.xz" "$out/old-$2.gguf"
  setsid $PYTHON -m training.evaluate "$(weights "$2")" "$out" --adapters "$out/old-$2.gguf" --sets "$3" --bfcl "$HOME_THERE/bfcl" \
    >>"$out/evaluate.log" 2>&1 </dev/null &
  sleep 2
  echo "started $2-old"
  ;;
base)
  aside "$2-base"
  setsid $PYTHON -m training.evaluate "$(weights "$2")" "$out" --ways "$3" --sets "${4:-own,later,latest,dev,known}" --parameters "${2%b}" --bfcl "$HOME_THERE/bfcl" \
    >>"$out/evaluate.log" 2>&1 </dev/null &
  sleep 2
  echo "started $2-base"
  ;;
look)
  into=$2
  shift 2
  [ $# -gt 0 ] || set -- $(ls "$HOME_THERE/out" | grep -v -e '-old$' -e '-base$')
  for name in "$@"; do
    out=$HOME_THERE/out/$name
    echo "== $name"
    tail -n 2 "$out"/*.log 2>/dev/null || true
    $PYTHON -m training.campaign collect "$out" "$into/$name" --files "${FILES:-6}"
  done
  nvidia-smi --query-gpu=memory.used,utilization.gpu --format=csv,noheader 2>/dev/null || true
  ;;
*)
  echo "arrive, start, sweep, old, base or look; not $1" >&2
  exit 2
  ;;
esac
