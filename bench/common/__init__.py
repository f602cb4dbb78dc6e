"""What scripts of several folders of benchmarks share.

A program puts the folder bench/ on its path and then imports from here:

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

    from common.store import Store  # noqa: E402
"""
