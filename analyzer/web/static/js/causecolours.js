// The colour of a cause: that of the part of a request in which its time shows.

const PART_OF = {
  'pool_imbalance.prefill_starved': 'prefill_queue',
  'pool_imbalance.decode_starved': 'decode_queue',
  'pool_imbalance.intra_pool_skew': 'tokenize',
  overload: 'blocked',
  prefill_bound: 'prefill_compute',
  decode_bound: 'decode',
  'transfer_delay.many_small_blocks': 'kv_publish',
  'transfer_delay.contention': 'kv_import',
  transfer_delay: 'kv_transfer',
  transfer_failure: 'retry',
  orphaned_kv: 'kv_publish',
  interference: 'recompute',
  preemption: 'preempted',
  router_queue: 'router_queue',
  tokenizer_slow: 'tokenize',
  network_streaming: 'network_streaming',
  client_stall: 'network_streaming',
  cold_start: 'first_decode_step',
  cancelled: 'unknown',
  retry_amplification: 'retry',
  version_mismatch: 'retry',
  handover_overhead: 'kv_import',
};

export const causeColour = (cause) => `var(--part-${PART_OF[cause] ?? PART_OF[cause.split('.')[0]] ?? 'unattributed'})`;
