#!/usr/bin/env bash
# A first day on a Linux machine with NVIDIA GPUs and their driver (525 or newer); CUDA comes with TensorFlow.
#
#   GANBOARD_GIT=https://github.com/OWNER/ganboard.git bash cuda_box.sh
#
# Others: WORK (folder), FIRSTDAY (options of `ganboard firstday`), BIN (an installed ganboard: then
# nothing is installed).
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
    "ganboard[gpu] @ git+$GANBOARD_GIT"
  BIN=$WORK/env/bin/ganboard
fi

"$BIN" doctor --accelerator || echo "Something must be fixed; trying the rest all the same." >&2
bundle=$WORK/firstday-cuda.zip
status=0
# shellcheck disable=SC2086  # options, several words
"$BIN" firstday $FIRSTDAY --bundle "$bundle" || status=$?
echo "Copy it home and read it in with: ganboard import $(basename "$bundle")"
ls -l "$bundle"
exit "$status"
