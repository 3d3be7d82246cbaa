"""What a command told, looked at by several test files."""


def assert_error(result, *words):
    """Status 1, nothing on standard output, one line that says these."""
    status, out, err = result
    assert status == 1
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err
