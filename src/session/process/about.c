/* SPDX-License-Identifier: Apache-2.0 */
#include "session/process/process.h"

#include "base/json.h"

#include <sys/wait.h>

/* Why a process ended without a status of its own. */
static const char *const causes[] = {
	[PROCESS_EXITED] = NULL,
	[PROCESS_FAILED] = "failed",
	[PROCESS_BOX_GONE] = "box",
	[PROCESS_BOX_LEFT] = "state",
	[PROCESS_CLOSED] = "close",
};

static void put_end(const struct process *p, json_t *out)
{
	if (p->state != PROCESS_OVER)
		return;
	json_put_text(out, "ended", causes[p->cause]);
	if (p->cause == PROCESS_EXITED && WIFEXITED(p->status))
		json_put_int(out, "exit_code", WEXITSTATUS(p->status));
	if (p->cause == PROCESS_EXITED && WIFSIGNALED(p->status))
		json_put_int(out, "signal", WTERMSIG(p->status));
	if (p->is_oom)
		json_put_bool(out, "oom", true);
	if (p->is_timed_out)
		json_put_bool(out, "timed_out", true);
	if (p->cpu_ms >= 0)
		json_put_int(out, "cpu_ms", p->cpu_ms);
}

json_t *process_json(const struct process *p)
{
	json_t *out = json_need(json_object());
	uint64_t end_ns = p->state == PROCESS_OVER ? p->over_ns : uv_hrtime();
	json_put_text(out, "process", p->id);
	json_put_text(out, "name", p->name[0] ? p->name : NULL);
	json_put_int(out, "pid", p->pid);
	json_put_shared(out, "argv", p->argv);
	json_put_text(out, "cwd", p->directory);
	json_put_text(out, "by", "call");
	json_put_text(out, "state", p->state == PROCESS_OVER ? "exited" : "running");
	if (p->is_terminal) {
		json_put_bool(out, "terminal", true);
		json_put_int(out, "rows", p->rows);
		json_put_int(out, "cols", p->columns);
	}
	if (p->is_use)
		json_put_bool(out, "keep_alive", true);
	json_put_int(out, "started_ms", p->started_ms);
	json_put_int(out, "wall_ms", (int64_t)((end_ns - p->began_ns) / 1000000));
	put_end(p, out);
	json_put_int(out, "stdout_bytes", (int64_t)p->out[0].kept.total_bytes);
	json_put_int(out, "stderr_bytes", (int64_t)p->out[1].kept.total_bytes);
	return out;
}
