"""A connector with the attributes and calls of vLLM 0.32's NixlConnector, and the engine's calls around it.

It moves no bytes: it is what the hooks are tried on where vLLM is not installed.
"""

import time
from collections import defaultdict
from types import SimpleNamespace

LEASE_S = 30


class Telemetry(SimpleNamespace):
    def __init__(self, start_us):
        super().__init__(
            startTime=start_us, postDuration=500, xferDuration=7000, totalBytes=65536, descCount=4
        )


class Rank:
    """What vLLM keeps in `connector_worker`."""

    def __init__(self):
        self._recving_transfers = defaultdict(list)
        self._reqs_to_send = {}
        self.nixl_wrapper = SimpleNamespace(
            get_xfer_telemetry=lambda handle: Telemetry(time.time_ns() // 1000)
        )
        self.failing = set()
        self.pulled = set()
        self.extension_s = LEASE_S * 2 / 3

    def _reap_expired_send_leases(self, done_sending):
        now = time.perf_counter()
        for request_id in [name for name, end in self._reqs_to_send.items() if now >= end]:
            del self._reqs_to_send[request_id]
            done_sending.add(request_id)

    def _handle_heartbeat(self, payload):
        for request_id in payload.split(","):
            self._reqs_to_send[request_id] = time.perf_counter() + self.extension_s

    def get_transfer_results(self):
        done = SimpleNamespace(finished_sending=set(), finished_recving=set(), failed_recving=set())
        for request_id in self.pulled:
            self._reqs_to_send.pop(request_id, None)
            done.finished_sending.add(request_id)
        self.pulled = set()
        for request_id, handles in list(self._recving_transfers.items()):
            for handle in handles:
                self.nixl_wrapper.get_xfer_telemetry(handle)
            del self._recving_transfers[request_id]
            done.finished_recving.add(request_id)
            if request_id in self.failing:
                done.failed_recving.add(request_id)
        self._reap_expired_send_leases(done.finished_sending)
        return done


class NixlConnector:
    def __init__(self, vllm_config, role, kv_cache_config):
        self.connector_worker = Rank() if role.name == "WORKER" else None
        self.lease_s = LEASE_S
        self._connector_metadata = None
        self.loads, self.sends = {}, {}
        self.seen_metadata = []
        self.was_shut_down = False

    def on_new_request(self, request):
        pass

    def update_state_after_alloc(self, request, blocks, num_external_tokens):
        if request.kv_transfer_params.get("do_remote_prefill"):
            request.kv_transfer_params["do_remote_prefill"] = False
            self.loads[request.request_id] = request

    def update_connector_output(self, output):
        self.seen_metadata.append(output.kv_connector_worker_meta)

    def request_finished(self, request, block_ids):
        return self.request_finished_all_groups(request, (block_ids,))

    def request_finished_all_groups(self, request, block_ids):
        if (
            not request.kv_transfer_params.get("do_remote_decode")
            or request.status.name == "FINISHED_ABORTED"
        ):
            return False, None
        self.sends[request.request_id] = time.perf_counter() + self.lease_s
        return True, {
            "do_remote_prefill": True,
            "remote_engine_id": "engine-p",
            "remote_request_id": request.request_id,
            "remote_num_tokens": request.num_computed_tokens,
        }

    def step_metadata(self):
        made = SimpleNamespace(reqs_to_recv=self.loads, reqs_to_send=self.sends)
        self.loads, self.sends = {}, {}
        return made

    def start_load_kv(self, forward_context, **kwargs):
        for number, request_id in enumerate(self._connector_metadata.reqs_to_recv):
            self.connector_worker._recving_transfers[request_id] = [(request_id, number)]
        self.connector_worker._reqs_to_send.update(self._connector_metadata.reqs_to_send)

    def get_transfer_results(self, finished_req_ids):
        return self.connector_worker.get_transfer_results()

    def build_connector_worker_meta(self):
        return None

    def shutdown(self):
        self.was_shut_down = True


def config(kv_role="kv_consumer", engine_id="engine-d", ranks=1, rank=0):
    return SimpleNamespace(
        kv_transfer_config=SimpleNamespace(
            kv_connector="NixlConnector", kv_role=kv_role, engine_id=engine_id, kv_connector_extra_config={}
        ),
        parallel_config=SimpleNamespace(
            world_size=ranks, rank=rank, tensor_parallel_size=ranks, pipeline_parallel_size=1
        ),
        model_config=SimpleNamespace(revision="main", tokenizer="tok", dtype="torch.bfloat16"),
        cache_config=SimpleNamespace(cache_dtype="auto", block_size=32),
    )


CACHE = SimpleNamespace(num_blocks=100, kv_cache_tensors=[SimpleNamespace(size=409_600) for _ in range(4)])


def request(request_id, parameters, headers=None, status="FINISHED_LENGTH_CAPPED", tokens=96):
    return SimpleNamespace(
        request_id=request_id,
        kv_transfer_params=parameters,
        trace_headers=headers,
        status=SimpleNamespace(name=status),
        num_computed_tokens=tokens,
    )


class Engine:
    """An engine's step around one scheduler-side and some rank-side connectors."""

    def __init__(self, make, ranks=1, **settings):
        self.scheduler = make(config(ranks=ranks, **settings), SimpleNamespace(name="SCHEDULER"), CACHE)
        self.ranks = [
            make(config(ranks=ranks, rank=rank, **settings), SimpleNamespace(name="WORKER"), CACHE)
            for rank in range(ranks)
        ]

    def step(self):
        """One engine step; as vLLM does, a request is done once all ranks have said so."""
        metadata = self.scheduler.step_metadata()
        done, metas = [], []
        for connector in self.ranks:
            connector._connector_metadata = metadata
            connector.start_load_kv(None)
            done.append(connector.get_transfer_results(set()))
            metas.append(connector.build_connector_worker_meta())
        meta = metas[0]
        for other in metas[1:]:
            meta = other if meta is None else meta.aggregate(other) if other is not None else meta
        output = SimpleNamespace(
            finished_sending=set.intersection(*(each.finished_sending for each in done)),
            finished_recving=set.intersection(*(each.finished_recving for each in done)),
            failed_recving=set.union(*(each.failed_recving for each in done)),
            kv_connector_worker_meta=meta,
        )
        self.scheduler.update_connector_output(output)
        return output

    def pull(self, request_id, headers=None, tokens=96):
        """A request that fetches its KV, up to its allocation."""
        parameters = {
            "do_remote_prefill": True,
            "remote_engine_id": "engine-p",
            "remote_request_id": f"{request_id}-11111111",
        }
        asked = request(f"{request_id}-22222222", parameters, headers)
        self.scheduler.on_new_request(asked)
        self.scheduler.update_state_after_alloc(asked, None, tokens)
        return asked

    def publish(self, request_id, headers=None, blocks=3):
        """A request that leaves its KV for another engine."""
        made = request(f"{request_id}-11111111", {"do_remote_decode": True}, headers)
        self.scheduler.on_new_request(made)
        self.scheduler.update_state_after_alloc(made, None, 0)
        self.scheduler.request_finished_all_groups(made, (list(range(blocks)),))
        return made
