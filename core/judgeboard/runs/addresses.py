"""The address of a judge version: where the last run sent texts, and where the next run sends texts."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from judgeboard.errors import AddressUnknown, OtherHost
from judgeboard.judges.judge import AskedJudge, fingerprint
from judgeboard.llm.endpoint import PROVIDERS, Address, bare_address, choose_provider
from judgeboard.llm.provider import host_of
from judgeboard.settings.model import load_settings, provider_address
from judgeboard.store.jobs import last_job_of_version
from judgeboard.store.judge_versions import find_version
from judgeboard.store.judging_rules import judges_of_rules
from judgeboard.store.runs import last_asked_run
from judgeboard.store.tables import StoredVersion

ADDRESS = ("provider", "base_url")
"""The options of a judge that choose the address."""


def provider_and_address(options: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the provider of a judge's options, and the address that the options or the environment give, if any."""
    gateway = options.get("base_url") or provider_address("openai")
    provider_name = options.get("provider") or load_settings().provider
    provider = choose_provider(provider_name, model=options.get("model"), base_url=gateway).name
    return provider, options.get("base_url") or provider_address(provider)


def configured_address(options: Mapping[str, Any]) -> Address:
    """Return the address of a judge's options: given there, in the environment, or the provider's own."""
    if options.get("provider") and options.get(
        "base_url"
    ):  # the package of the provider may be gone
        return bare_address(options["provider"], options["base_url"])
    provider, base_url = provider_and_address(options)
    return bare_address(provider, base_url or PROVIDERS[provider].base_url)


@dataclass(frozen=True, slots=True)
class LastAddress:
    """Where the last run of a judge version sent texts.

    ``hosts`` are separated by commas if answers were generated at a second host. ``address`` is
    None if an earlier release made the run and only the hosts are known.
    """

    hosts: str
    address: Address | None

    def is_host_of(self, address: Address) -> bool:
        """Return whether the last run sent texts to the host of ``address``."""
        if self.address is not None:
            return self.address.host.lower() == address.host.lower()
        return address.host.lower() in self.hosts.lower().split(", ")


def last_address(connection: Connection, version_id: int) -> LastAddress | None:
    """Return where the last run of a judge version sent texts, None if no run did."""
    run = last_asked_run(connection, version_id)
    if run is None or run.endpoint_host is None:
        return None
    if run.provider is not None and run.base_url is not None:
        return LastAddress(run.endpoint_host, Address(run.provider, run.base_url))
    only_hosts = LastAddress(run.endpoint_host, None)
    fitting = (
        address
        for address in _known_addresses(connection, version_id)
        if only_hosts.is_host_of(address)
    )
    return LastAddress(run.endpoint_host, next(fitting, None))


def _known_addresses(connection: Connection, version_id: int) -> Iterator[Address]:
    """Yield addresses that a run of an earlier release may have used: of jobs, rules, environment and providers."""
    job = last_job_of_version(connection, version_id)
    if job is not None:
        yield configured_address(job.judge)
    for judge in judges_of_rules(connection, version_id):
        yield configured_address(judge)
    for name, provider in PROVIDERS.items():
        yield configured_address({"provider": name})
        yield Address(name, provider.base_url)


def known_address(connection: Connection, version_id: int) -> Address | None:
    """Return where the last run of a judge version sent texts, before the first run the address of a judging rule.

    Returns None if neither is known. Of several rules, the newest rule that has an address counts.
    A rule that was removed or got another judge counts if no other rule has the version.
    """
    last = last_address(connection, version_id)
    if last is not None:
        return last.address
    for judge in judges_of_rules(connection, version_id):
        if judge.get("base_url"):
            return configured_address(judge)
    return None


def address_options(address: Address | None) -> dict[str, str]:
    """Return the options of a judge that choose an address; empty without one."""
    return {} if address is None else {"provider": address.provider, "base_url": address.base_url}


def at_last_address(
    connection: Connection, make: Callable[..., AskedJudge], given_options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return ``given_options``, with the `known_address` of the judge version that ``make`` returns for them.

    An address in the options or in the environment takes precedence, as does another provider. The
    options of a new version stay as they are, also of a version whose judging rules had no address.
    Raises AddressUnknown if no address of a stored version was ever chosen, or if only the host of
    the last run is known.
    """
    options = dict(given_options)
    if options.get("replies") is not None or options.get("base_url"):
        return options
    described = make(**options | {"api_key": "none"})
    if described.address is None:
        return options
    version = find_version(connection, fingerprint(described.version))
    if version is None:
        return options
    if described.address.base_url != PROVIDERS[described.address.provider].base_url:
        return options  # the environment's address
    address = known_address(connection, version.id)
    if options.get("provider") not in (None, None if address is None else address.provider):
        return options
    if address is None:
        last = last_address(connection, version.id)
        if last is not None or not judges_of_rules(connection, version.id):
            raise AddressUnknown(
                version.title, None if last is None else last.hosts.partition(", ")[0]
            )
    return options | address_options(address)


def check_host(
    last: LastAddress | None,
    version: StoredVersion,
    address: Address | None,
    subject: Callable[[], str],
) -> None:
    """Raise OtherHost if ``address`` has another host than the last run of ``version``.

    ``last`` is read before the run begins. ``subject`` returns what would be sent, for example "15
    answers".
    """
    if last is None or address is None or last.is_host_of(address):
        return
    last_host = last.hosts if last.address is None else last.address.host
    raise OtherHost(version.title, before=last_host, now=address.host, subject=subject())


def require_confirmed(change: OtherHost, confirm: Callable[[OtherHost], bool] | None) -> None:
    """Raise ``change`` unless ``confirm`` returns True.

    Without ``confirm``, a program makes the run. The program has chosen the address, unless the
    address is a provider's own: the default.
    """
    provider_hosts = {host_of(provider.base_url) for provider in PROVIDERS.values()}
    if not confirm(change) if confirm is not None else change.now in provider_hosts:
        raise change
