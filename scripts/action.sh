#!/usr/bin/env bash
# What the GitHub Action runs; its inputs come as FAIRTRIAL_…, never inside a command line that a shell would read.
set -u
spec=${FAIRTRIAL_SPEC:-audit.toml} out=${FAIRTRIAL_OUT:-audit-report}
# Without another wish the revision of this action itself. -I: nothing
# that lies in the checked-out repository is taken for a part of Python.
own=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case ${FAIRTRIAL_INSTALL:-} in
  none) ;;
  "") python -I -m pip install --quiet "$own" || exit 1 ;;
  *) python -I -m pip install --quiet "$FAIRTRIAL_INSTALL" || exit 1 ;;
esac
policy=()
if [ "${FAIRTRIAL_TRUST:-false}" = true ]; then
  policy+=(--trust)
fi
for verdict in ${FAIRTRIAL_FAIL_ON:-}; do
  policy+=(--fail-on "$verdict")
done
fairtrial run "$spec" --out "$out" ${policy[@]+"${policy[@]}"}
code=$?
if [ -f "$out/summary.md" ]; then
  cat "$out/summary.md" >> "${GITHUB_STEP_SUMMARY:-/dev/stdout}"
fi
echo "report=$out/report.html" >> "${GITHUB_OUTPUT:-/dev/null}"
exit $code
