"""The package as others install it: its parts, its extras, its version."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import metadata, packages_distributions, requires

import pytest
import yaml
from built_book import ROOT
from command_line import assert_error
from packaging.requirements import Requirement

from transformer_course.checkpoints import shipped

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
