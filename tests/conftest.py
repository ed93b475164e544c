"""Shared by all tests: markers by folder, one worker for Spark, the Spark session and a Chromium browser."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from requirements import CHROMIUM_FLAGS, require_chromium, require_java

TESTS = Path(__file__).parent
# Folders whose tests run whole commands, reports, pages or published tables.
WHOLE = {"cli", "docs", "golden", "report", "snapshot", "web"}
# For many queries over few rows: compiling each query would take longer than running it.
SPARK_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        path = Path(item.path)
        folder = path.relative_to(TESTS).parts[0] if TESTS in path.parents else ""
        if folder == "validity":
            item.add_marker("validity")
        if folder in WHOLE:
            item.add_marker("whole")
        if "spark" in fixtures:
            item.add_marker("spark")
        if "browser" in fixtures:
            item.add_marker("browser")
        # With `--dist loadgroup` a file's tests share one worker, hence its module fixtures, and all Spark
        # tests share one Java process.
        item.add_marker(pytest.mark.xdist_group("spark" if item.get_closest_marker("spark") else str(path)))


@pytest.fixture
def typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Exit code, standard output and standard error of one call of the program."""
    from inside.cli import main

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fairtrial", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err

    return call


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A small local Spark session; the test skips when Java or pyspark is missing."""
    require_java()
    from pyspark.sql import SparkSession

    scratch = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[1]").appName("fairtrial-tests")
    for name, value in SPARK_SETTINGS.items():
        builder = builder.config(name, value)
    session = (
        builder.config("spark.local.dir", str(scratch))
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A Playwright browser driving the system's Chromium; the test skips when Chromium is missing."""
    path = require_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        yield chromium
        chromium.close()
