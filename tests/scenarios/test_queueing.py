"""The parts of the model against closed forms."""

import numpy as np
import pytest

from .decode import DecodeCalls, DecodeWorker
from .life import Life
from .links import Link
from .loop import Loop
from .model import play
from .spec import NS, Cache, Decode, Prefill, Router, Spec, Workload
from .stream import send_out, token_times
from .workload import asks

SERVICE_S = 0.1


def one_server(seed: int, utilisation: float) -> Spec:
    """Poisson arrivals of equal prompts at one prefill worker; everything else is quick."""
    load = Workload(
        requests=4000,
        rate=utilisation / SERVICE_S,
        prompt_median=100.0,
        prompt_sigma=0.0,
        output_median=6.0,
        output_sigma=0.0,
    )
    return Spec(
        seed=seed,
        workload=load,
        router=Router(service_s=0.0, tokenize_token_s=0.0),
        prefill=Prefill(workers=1, base_s=SERVICE_S, token_s=0.0, noise=0.0, kv_tokens=10**9),
        cache=Cache(offer_s=0.0),
        decode=Decode(workers=1, slots=10**6, kv_tokens=10**9, base_s=1e-4, seq_s=0.0, ctx_s=0.0),
    )


def waits_s(spec: Spec) -> list[float]:
    return [
        (interval.end - interval.start) / NS
        for life in play(spec).lives
        for interval in life.intervals
        if interval.phase == "prefill_queue"
    ]


@pytest.mark.parametrize("utilisation", [0.5, 0.7])
def test_prefill_queue_waits_as_an_m_d_1_queue_does(utilisation: float) -> None:
    means = [float(np.mean(waits_s(one_server(seed, utilisation)))) for seed in range(3)]
    closed_form = utilisation * SERVICE_S / (2 * (1 - utilisation))
    assert np.mean(means) == pytest.approx(closed_form, rel=0.08)


def test_a_path_shared_by_poisson_transfers_takes_what_processor_sharing_takes() -> None:
    loop, utilisation, alone = Loop(), 0.6, 0.05
    link = Link(loop, rate=1e9, ceiling=1e9)
    took: list[float] = []

    def transfer(began: int) -> None:
        link.send(alone * 1e9, lambda: took.append((loop.now - began) / NS))

    arrivals = np.cumsum(np.random.default_rng(4).exponential(alone / utilisation, 8000))
    for at in (arrivals * NS).astype(int).tolist():
        loop.at(at, transfer, at)
    loop.run()
    assert len(took) == 8000
    assert np.mean(took) == pytest.approx(alone / (1 - utilisation), rel=0.08)


def test_two_transfers_share_a_path_and_neither_passes_its_ceiling() -> None:
    loop = Loop()
    done: dict[str, int] = {}
    link = Link(loop, rate=10e9, ceiling=8e9)
    link.send(8e9, lambda: done.update(first=loop.now))
    link.send(4e9, lambda: done.update(second=loop.now))
    loop.run()
    # both at 5 GB/s until the second is done after 0.8 s; then the first's last 4 GB at its ceiling of 8
    assert done["second"] / NS == pytest.approx(0.8, abs=1e-6)
    assert done["first"] / NS == pytest.approx(0.8 + 0.5, abs=1e-6)


def decode_worker(spec: Decode) -> tuple[Loop, DecodeWorker]:
    loop = Loop()

    def nothing(*_: object) -> None:
        return None

    worker = DecodeWorker(loop, 0, spec, DecodeCalls(nothing, nothing, nothing, nothing), "decode-0")
    return loop, worker


def lives(count: int, prompt: int, output: int) -> list[Life]:
    load = Workload(
        requests=count, prompt_median=prompt, prompt_sigma=0.0, output_median=output, output_sigma=0.0
    )
    return [Life(ask) for ask in asks(Spec(seed=1, workload=load))]


def test_a_step_grows_with_batch_and_context() -> None:
    spec = Decode(base_s=0.01, seq_s=0.001, ctx_s=1e-6, slots=8, kv_tokens=10**6)
    loop, worker = decode_worker(spec)
    (life,) = lives(1, 1000, 20)
    worker.offer(life)
    worker.ready(life)
    loop.run()
    expected = np.cumsum([0.01 + 0.001 + 1e-6 * (1000 + i) for i in range(20)])
    assert token_times(life.steps) / NS == pytest.approx(expected)
    assert life.sampled_first == round(expected[0] * NS)
    assert life.sampled_last == pytest.approx(expected[-1] * NS, abs=2)


def test_a_request_that_becomes_ready_during_a_step_joins_at_the_next() -> None:
    loop, worker = decode_worker(Decode(base_s=0.01, seq_s=0.0, ctx_s=0.0, slots=8, kv_tokens=10**6))
    first, second = lives(2, 100, 10)
    worker.offer(first)
    worker.offer(second)
    worker.ready(first)
    loop.at(34_000_000, worker.ready, second)
    loop.run()
    assert second.sampled_first == 50_000_000  # joined at 40 ms
    assert first.sampled_last == 100_000_000
    assert len(token_times(first.steps)) == len(token_times(second.steps)) == 10


def test_prompts_computed_on_decode_lengthen_the_steps_of_running_streams() -> None:
    spec = Decode(base_s=0.01, seq_s=0.0, ctx_s=0.0, slots=8, kv_tokens=10**6, chunk=100, local_token_s=1e-4)
    loop, worker = decode_worker(spec)
    stream, prompt = lives(2, 1000, 30)
    worker.offer(stream)
    worker.offer(prompt)
    worker.ready(stream)
    worker.compute_prompt(prompt, 1000)
    loop.run()
    gaps = np.diff(token_times(stream.steps)) / NS
    assert np.sum(gaps > 0.015) == 10  # ten chunks of 100 tokens, 10 ms each
    assert max(gaps) == pytest.approx(0.02)


def test_memory_pressure_preempts_the_youngest_and_loses_no_token() -> None:
    spec = Decode(base_s=0.01, slots=8, kv_tokens=330, reserve_output=False, restore_token_s=1e-4)
    loop, worker = decode_worker(spec)
    old, young = lives(2, 100, 120)
    worker.offer(old)
    worker.ready(old)
    loop.at(50_000_000, worker.offer, young)
    loop.at(60_000_000, worker.ready, young)
    loop.run()
    assert not old.preempted
    assert len(young.preempted) == 1
    assert [len(token_times(life.steps)) for life in (old, young)] == [120, 120]
    assert (worker.kv_used, worker.slots_used) == (0, 0)


def test_one_writer_sends_tokens_first_come_first_served() -> None:
    spec = one_server(1, 0.3)
    spec = Spec(
        seed=1, workload=Workload(requests=40, rate=50.0), router=Router(egress_token_s=0.001, network_s=0.0)
    )
    run = play(spec)
    answers = [life for life in run.lives if life.outcome == "ok"]
    sampled = np.sort(np.concatenate([token_times(life.steps) for life in answers])) / NS
    clock, departures = 0.0, []
    for at in sampled:
        clock = max(clock, at) + 0.001
        departures.append(clock)
    last_sent = max(life.sent_last or 0 for life in answers) / NS
    assert last_sent == pytest.approx(departures[-1], abs=1e-6)
    assert all((life.sent_first or 0) >= (life.sampled_first or 0) + 1_000_000 - 1 for life in answers)
    assert send_out.__module__.endswith("stream")
