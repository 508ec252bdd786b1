"""Prefill and decode of a small model as two processes that hand KV over, timed with PhaseTracer.

    python -m tests.live.gpu.hand_over --model DIRECTORY --otlp http://127.0.0.1:4317 --requests 40

On a GPU the decode process maps the prefill process's memory (CUDA IPC) and copies from it; every instant is
taken after the device is done. Without one the same code runs on the CPU and hands KV over in shared memory,
which it says in `pd.kv.transport` and on its first line. Needs torch, transformers and pdscope's instrument.
Prints one JSON line on the machine, then one for each request as its client saw it.
"""

import argparse
import json
import queue
import random
import secrets
import time

import torch
import torch.multiprocessing as processes

from collector.instrument import KvHandoff, Phase, PhaseTracer, Worker

LEASE_NS = 30 * 10**9
GIVE_UP_S = 120


def device():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def transport():
    return "cuda_ipc" if torch.cuda.is_available() else "shm"


def settle():
    """Wait until the device has done what it was given, so that a clock tells its time."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def load(directory):
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).to(device()).eval()
    with torch.inference_mode():
        model(torch.tensor([[1, 2, 3]], device=device()), use_cache=True)
    settle()
    return model


def tracer_of(otlp, pool):
    name = f"hand-over-{pool}"
    return PhaseTracer.connect(otlp, Worker(name, pool, f"{name}-0", gpus=int(torch.cuda.is_available())))


def prefill(directory, otlp, ready, asked, published, released):
    """Compute prompts, publish their KV, and let go of it when decode has read it."""
    model, tracer, held = load(directory), tracer_of(otlp, "prefill"), {}
    ready.put("prefill")
    while True:
        let_go(released, held)
        try:
            request = asked.get(timeout=0.01)
        except queue.Empty:
            continue
        if request is None:
            break
        leg = tracer.leg(request["headers"])
        leg.record(Phase.PREFILL_QUEUE, request["sent_ns"], leg.clock.now())
        ids = torch.tensor([request["ids"]], device=device())
        with leg.phase(Phase.PREFILL_COMPUTE), torch.inference_mode():
            layers = model(ids, use_cache=True).past_key_values
            settle()
        started = leg.clock.now()
        kv = torch.stack([torch.stack((layer.keys[0], layer.values[0])) for layer in layers.layers]).clone()
        settle()
        if kv.device.type == "cpu":
            kv.share_memory_()
        name = f"hand-over:{leg.request_id}"
        offer = {
            "transfer_id": name, "bytes": kv.numel() * kv.element_size(), "tokens": len(request["ids"]),
            "connector": "torch", "transport": transport(), "source": "hand-over-prefill-0",
        }  # fmt: skip
        held[name] = (leg, kv)
        offered = leg.clock.now()
        published.put({**request, "kv": kv, "offer": offer, "published_ns": offered})
        known = KvHandoff(**offer, status="ok", lease_expires_unix_nano=offered + LEASE_NS)
        leg.record(Phase.KV_PUBLISH, started, offered, known)
    until = time.monotonic() + GIVE_UP_S
    while held and time.monotonic() < until:
        let_go(released, held)
        time.sleep(0.01)
    published.put(None)
    tracer.shutdown()


def let_go(released, held):
    while True:
        try:
            name = released.get_nowait()
        except queue.Empty:
            return
        leg, _ = held.pop(name)
        leg.kv_release(name, "imported")


def decode(directory, otlp, ready, published, released, tokens):
    """Copy the KV over, then run the last prompt token and what follows."""
    from transformers import DynamicCache

    model, tracer = load(directory), tracer_of(otlp, "decode")
    ready.put("decode")
    while (request := published.get()) is not None:
        leg = tracer.leg(request["headers"])
        known = KvHandoff(**request["offer"], destination="hand-over-decode-0", status="ok")
        leg.record(Phase.DECODE_QUEUE, request["published_ns"], leg.clock.now(), known)
        with leg.phase(Phase.KV_TRANSFER, known):
            mine = torch.empty_like(request["kv"], device=device())
            mine.copy_(request["kv"])
            settle()
        released.put(request["offer"]["transfer_id"])
        with leg.phase(Phase.KV_IMPORT, known):
            cache = DynamicCache()
            for number, (keys, values) in enumerate(mine[..., :-1, :]):
                cache.update(keys[None], values[None], number)
            settle()
        token = request["ids"][-1]
        with torch.inference_mode():
            with leg.phase(Phase.FIRST_DECODE_STEP):
                token, cache = step(model, token, cache)
            tokens.put((leg.request_id, token))
            with leg.phase(Phase.DECODE):
                for _ in range(request["output"] - 1):
                    token, cache = step(model, token, cache)
                    tokens.put((leg.request_id, token))
    tracer.shutdown()


def step(model, token, cache):
    answer = model(torch.tensor([[token]], device=device()), past_key_values=cache, use_cache=True)
    chosen = int(answer.logits[0, -1].argmax())
    settle()
    return chosen, answer.past_key_values


def serve(tracer, asked, tokens, ids, output):
    """One request through the router, as its client sees it: when it was sent, and when its tokens came."""
    trace_id, sent_ns = secrets.token_hex(16), time.time_ns()
    headers = {"traceparent": f"00-{trace_id}-{secrets.token_hex(8)}-01"}
    seen = []
    facts = {"gen_ai.request.model": "tiny", "gen_ai.usage.input_tokens": len(ids)}
    with tracer.request(headers, attributes=facts) as request:
        with request.phase(Phase.ROUTER_QUEUE):
            outgoing = request.outgoing_headers()
        asked.put({"headers": outgoing, "ids": ids, "output": output, "sent_ns": request.clock.now()})
        while len(seen) < output:
            name, _ = tokens.get(timeout=GIVE_UP_S)
            if name == request.request_id:
                request.token_sent()
                seen.append(time.time_ns())
        request.set({"gen_ai.usage.output_tokens": output})
    return {"trace_id": trace_id, "sent_ns": sent_ns, "token_ns": seen, "input_tokens": len(ids)}


def run(options):
    spawn = processes.get_context("spawn")
    ready, asked, published, released, tokens = (spawn.Queue() for _ in range(5))
    workers = [
        spawn.Process(target=prefill, args=(options.model, options.otlp, ready, asked, published, released)),
        spawn.Process(target=decode, args=(options.model, options.otlp, ready, published, released, tokens)),
    ]
    for worker in workers:
        worker.start()
    for _ in workers:
        ready.get(timeout=GIVE_UP_S)
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else "none: CPU, shared memory"
    print(json.dumps({"gpu": where, "torch": torch.__version__, "transport": transport()}), flush=True)
    tracer, rng = tracer_of(options.otlp, "router"), random.Random(options.seed)
    for _ in range(options.requests):
        ids = [rng.randint(300, 2000) for _ in range(rng.randint(16, options.longest))]
        print(json.dumps(serve(tracer, asked, tokens, ids, rng.randint(2, 12))), flush=True)
        time.sleep(rng.uniform(0.0, 0.1))
    asked.put(None)
    for worker in workers:
        worker.join(GIVE_UP_S)
    tracer.shutdown()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--otlp", required=True)
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--longest", type=int, default=600, help="longest prompt, tokens")
    parser.add_argument("--seed", type=int, default=1)
    run(parser.parse_args())


if __name__ == "__main__":
    main()
