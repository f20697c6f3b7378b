#!/usr/bin/env bash
# A first day on a Cloud TPU VM (v2-alpha-tpuv5-lite for v5e; others: cloud.google.com/tpu/docs/runtimes).
#
#   GANBOARD_GIT=https://github.com/OWNER/ganboard.git bash tpu_vm.sh
#
# Others: WORK (folder), FIRSTDAY (options of `ganboard firstday`), BIN (an installed ganboard: then
# nothing is installed),
# LIBTPU (version), TPU_RUNTIME (pjrt or stream).
set -euo pipefail

WORK=${WORK:-$HOME/ganboard-firstday}
BIN=${BIN:-}
FIRSTDAY=${FIRSTDAY:---minutes 15}
GANBOARD_GIT=${GANBOARD_GIT:-https://github.com/OWNER/ganboard.git}
export GANBOARD_HOME=${GANBOARD_HOME:-$WORK/home}
mkdir -p "$WORK"

if [ -z "$BIN" ]; then
  case "$GANBOARD_GIT" in
    *OWNER*)
      echo "Set GANBOARD_GIT to the address of your copy of ganboard." >&2
      exit 1
      ;;
  esac
  python3 -m venv "$WORK/tools"
  "$WORK/tools/bin/pip" install --quiet uv
  "$WORK/tools/bin/uv" venv --quiet --clear --python 3.12 "$WORK/env"
  "$WORK/tools/bin/uv" pip install --quiet --python "$WORK/env/bin/python" \
    "ganboard[tpu] @ git+$GANBOARD_GIT" "libtpu==${LIBTPU:-0.0.14}"
  BIN=$WORK/env/bin/ganboard
  # TensorFlow reaches TPU v5e and newer through PJRT (Cloud TPU's documentation of TensorFlow
  # runtimes); TPU_RUNTIME=stream leaves TensorFlow's older runtime, for v2 and v3
  if [ "${TPU_RUNTIME:-pjrt}" = pjrt ]; then
    export NEXT_PLUGGABLE_DEVICE_USE_C_API=true
    TF_PLUGGABLE_DEVICE_LIBRARY_PATH=$("$WORK/env/bin/python" -c \
      'import libtpu; print(libtpu.get_library_path())')
    export TF_PLUGGABLE_DEVICE_LIBRARY_PATH
  fi
fi

"$BIN" doctor --accelerator || echo "Something must be fixed; trying the rest all the same." >&2
bundle=$WORK/firstday-tpu.zip
status=0
# shellcheck disable=SC2086  # options, several words
"$BIN" firstday $FIRSTDAY --bundle "$bundle" || status=$?
echo "Copy it home and read it in with: ganboard import $(basename "$bundle")"
ls -l "$bundle"
exit "$status"
