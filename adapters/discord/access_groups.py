"""The groups of a sender, in the form that the access settings use; no I/O."""

from adapters.discord.incoming import ReceivedMessage


def access_groups(received: ReceivedMessage) -> tuple[str, ...]:
    """Return `GUILD`, `GUILD/#CHANNEL` and `GUILD/@ROLE` for the guild of a message.

    Return nothing for a direct message, whatever roles its sender has elsewhere. A thread's message also belongs to
    its parent channel.
    """
    if not received.guild:
        return ()
    channels = [received.message.chat.name, *([str(received.parent)] if received.parent else [])]
    return (
        str(received.guild),
        *(f"{received.guild}/#{channel}" for channel in channels),
        # Everyone has the role whose id is the guild's.
        *(f"{received.guild}/@{role}" for role in received.roles or () if role != received.guild),
    )
