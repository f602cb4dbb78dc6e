"""This machine and the day, as tables of results give them."""

import datetime
import os
import platform


def facts():
    """What Linux says of the first processor: {name: value}."""
    found = {}
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            name, _, value = line.partition(":")
            found.setdefault(name.strip(), value.strip())
    return found


def processor():
    return facts().get("model name", platform.machine())


def today():
    """When and where a run is done."""
    return f"{datetime.date.today()}, {processor()}, {os.cpu_count()} processors"
