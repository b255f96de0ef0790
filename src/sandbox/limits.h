/* The limits of a box, who enforces them on this host, and what a box has used.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* All limits. A row has the limit's name, default and meaning. The name is used in C and JSON,
 * and ends in the unit. The value 0 never means "unlimited". Only cpu_ms may be 0, which means
 * "not given": limits_settle() then computes it. */
#define LIMITS(X)                                                                                  \
	X(memory_bytes, UINT64_C(1) << 30, "memory of all processes and in-memory files")          \
	X(cpu_milli, 1000, "thousandths of one CPU that all processes share")                      \
	X(cpu_ms, 0, "CPU time of all processes of a step")                                        \
	X(timeout_ms, 30000, "wall time of a step")                                                \
	X(pids, 128, "processes and threads")                                                      \
	X(disk_bytes, UINT64_C(256) << 20, "bytes in the workspace, /tmp and /dev/shm together")   \
	X(disk_inodes, 65536, "files in the workspace, /tmp and /dev/shm together")                \
	X(file_bytes, UINT64_C(256) << 20, "bytes of one file")                                    \
	X(output_bytes, UINT64_C(10) << 20, "captured output of one stream of a step")             \
	X(open_files, 1024, "open files of one process")

enum limit {
#define X(name, value, what) LIMIT_##name,
	LIMITS(X)
#undef X
		LIMIT_END_
};

struct limits {
	uint64_t value[LIMIT_END_];
};

/* Compute a CPU time limit that was not given: the wall time limit times the number of CPUs. */
static inline void limits_settle(struct limits *limits)
{
	const uint64_t most = UINT64_C(1) << 40;
	uint64_t *v = limits->value, ms = v[LIMIT_timeout_ms] < most ? v[LIMIT_timeout_ms] : most;
	if (v[LIMIT_cpu_ms] > 0)
		return;
	ms = (ms * v[LIMIT_cpu_milli] + 999) / 1000;
	v[LIMIT_cpu_ms] = ms < 1 ? 1 : ms < most ? ms : most;
}

/* Who enforces a limit. Users see LIMIT_BY_NONE as `enforced: false`. */
enum limit_by {
	LIMIT_BY_NONE,
	LIMIT_BY_CGROUP_V2,
	LIMIT_BY_CGROUP_V1,
	LIMIT_BY_RLIMIT,   /* the kernel, for each process separately */
	LIMIT_BY_ENGINE,   /* the engine, which measures the usage and ends the step */
	LIMIT_BY_AFFINITY, /* the kernel, by running the box only on some of the CPUs */
	LIMIT_BY_MOUNT,	   /* the kernel: the box's own file system has this size */
	LIMIT_BY_END_
};

/* What a box has used so far, measured by the kernel or, without a cgroup, by the warden and the
 * engine. */
struct box_usage {
	uint64_t memory_bytes;
	uint64_t memory_peak_bytes;
	uint64_t cpu_us;
	uint64_t n_oom_kills;
	uint64_t n_pids;
	/* 1: the box may hold memory that memory_bytes does not include */
	uint64_t is_uncounted;
};
