/** Wire shapes of GET /containers/{id}/stats and top at API 1.55. Types only. Counters count since the start. */

export interface CpuStats {
  cpu_usage: {
    /** Nanoseconds. */
    total_usage: number;
    /** Per processor; absent on cgroup v2. */
    percpu_usage?: number[];
    usage_in_kernelmode: number;
    usage_in_usermode: number;
  };
  /** Nanoseconds that the host's processors have run, idle or not. Absent in zero statistics. */
  system_cpu_usage?: number;
  online_cpus?: number;
  throttling_data: {
    periods: number;
    throttled_periods: number;
    /** Nanoseconds. */
    throttled_time: number;
  };
}

export interface BlkioEntry {
  major: number;
  minor: number;
  op: string;
  value: number;
}

type BlkioLists =
  | 'io_service_bytes_recursive'
  | 'io_serviced_recursive'
  | 'io_queue_recursive'
  | 'io_service_time_recursive'
  | 'io_wait_time_recursive'
  | 'io_merged_recursive'
  | 'io_time_recursive'
  | 'sectors_recursive';

export interface NetworkStats {
  rx_bytes: number;
  rx_packets: number;
  rx_errors: number;
  rx_dropped: number;
  tx_bytes: number;
  tx_packets: number;
  tx_errors: number;
  tx_dropped: number;
}

export interface ContainerStats {
  os_type: 'linux';
  /** RFC 3339; the zero time when there is no sample. */
  read: string;
  /** Time of the sample that `precpu_stats` is from. */
  preread: string;
  pids_stats: { current?: number; limit?: number };
  blkio_stats: Record<BlkioLists, BlkioEntry[] | null>;
  /** Of Windows. */
  num_procs: number;
  /** Of Windows. */
  storage_stats: Record<string, never>;
  cpu_stats: CpuStats;
  precpu_stats: CpuStats;
  memory_stats: {
    usage?: number;
    max_usage?: number;
    stats?: Record<string, number>;
    failcnt?: number;
    limit?: number;
  };
  name: string;
  id: string;
  /** By interface; absent without a network of its own. */
  networks?: Record<string, NetworkStats>;
}

export interface ContainerTop {
  Processes: string[][];
  Titles: string[];
}
