"""``serve``: a published model behind OpenAI's interface, on this machine."""

from transformer_course import checks
from transformer_course.cli.options import Device, Model, load
from transformer_course.errors import ConfigError, CourseError

HERE = ("127.0.0.1", "localhost")
"""What this machine calls itself."""


def serve(
    model: Model,
    host: str = "127.0.0.1",
    port: int = 8000,
    rows: int = 8,
    anyone: bool = False,
    device: Device = "auto",
) -> None:
    """Answer chats of other programs, as OpenAI's interface has them.

    Programs that speak it are given the address
    http://127.0.0.1:8000/v1 and any key. Only this machine can reach it.

    Args:
        host: the address to listen on; one that other machines can reach is
            refused without --anyone, because nobody is asked for a key.
        port: its number; 0 takes one that is free.
        rows: most answers that are written at once.
        anyone: let other machines ask, too.
    """
    try:
        import uvicorn

        from transformer_course.fast.four_bits import keep_packed
        from transformer_course.inference.serving import endpoint
    except ImportError as error:
        raise CourseError(
            f"the package {error.name} is not installed: 'pip install "
            "starlette uvicorn' brings what serve needs."
        ) from error

    checks.require_fits("rows", rows, checks.Size)
    if not 0 <= port < 65_536:
        raise ConfigError(f"port is {port}: expected from 0 to 65535.")
    if host not in HERE and not anyone:
        raise ConfigError(
            f"other machines could reach {host}, and nobody is asked for a "
            "key: leave --host out, or add --anyone."
        )
    used = load(model, device)
    keep_packed(used.model)
    hosts = ("*",) if anyone else HERE
    app = endpoint(used, model.name, hosts, rows)
    uvicorn.run(app, host=host, port=port, log_level="warning")
