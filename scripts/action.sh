#!/usr/bin/env bash
# What the GitHub Action runs; its inputs come as FAIRTRIAL_…, never inside a command line that a shell would read.
set -u
spec=${FAIRTRIAL_SPEC:-audit.toml} out=${FAIRTRIAL_OUT:-audit-report}
if [ -n "${FAIRTRIAL_INSTALL:-}" ]; then
  python -m pip install --quiet "$FAIRTRIAL_INSTALL" || exit 1
fi
policy=()
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
