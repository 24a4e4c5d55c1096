import type { ContainerStats } from '../../../api/types/container-stats.ts';

const CPU_STATS = {
  cpu_usage: { total_usage: 3, percpu_usage: [1, 2], usage_in_kernelmode: 1, usage_in_usermode: 2 },
  system_cpu_usage: 100,
  online_cpus: 2,
  throttling_data: { periods: 0, throttled_periods: 0, throttled_time: 0 },
};

export const STATS: ContainerStats = {
  os_type: 'linux',
  read: '2026-01-01T00:00:01Z',
  preread: '2026-01-01T00:00:00Z',
  pids_stats: { current: 1 },
  blkio_stats: {
    io_service_bytes_recursive: [],
    io_serviced_recursive: [],
    io_queue_recursive: [],
    io_service_time_recursive: [],
    io_wait_time_recursive: [],
    io_merged_recursive: [],
    io_time_recursive: [],
    sectors_recursive: [],
  },
  num_procs: 0,
  storage_stats: {},
  cpu_stats: CPU_STATS,
  precpu_stats: CPU_STATS,
  memory_stats: { usage: 4096, stats: { cache: 0 }, limit: 8192 },
  name: '/web',
  id: 'a'.repeat(64),
};
