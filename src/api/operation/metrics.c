/* SPDX-License-Identifier: Apache-2.0 */
#include "api/operation/metrics.h"

#include "api/gate/gate_count.h"
#include "api/operation/principal.h"
#include "base/fd.h"
#include "registry/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct metrics {
	int64_t fronts[METRICS_END_];
	size_t n_operations;
	uint64_t answers[][ERR_END_]; /* numbers of answers, by operation and error code */
};

/* ORDER enum metrics_of. */
static const struct {
	const char *name, *type, *help;
} fronts[METRICS_END_] = {
	{"retort_connections", "gauge", "Clients that are connected."},
	{"retort_requests_running", "gauge", "Requests under way."},
	{"retort_requests_total", "counter", "Requests that were answered."},
	{"retort_unauthorized_total", "counter", "Requests without a known token."},
	{"retort_full_total", "counter", "Connections and requests refused because of a limit."},
};

int metrics_open(struct metrics **out, struct err *err)
{
	size_t n = 0;
	while (operation_at(n))
		n++;
	*out = calloc(1, sizeof **out + n * sizeof(uint64_t[ERR_END_]));
	if (!*out)
		return err_set(err, ERR_NO_MEMORY, "no memory for metrics");
	(*out)->n_operations = n;
	return 0;
}

void metrics_close(struct metrics *m)
{
	free(m);
}

void metrics_count(struct metrics *m, enum metrics_of what, int64_t by)
{
	if (m)
		m->fronts[what] += by;
}

void metrics_answer(struct metrics *m, const struct operation *op, enum err_code code)
{
	size_t i = 0;
	while (m && i < m->n_operations && operation_at(i) != op)
		i++;
	if (m && i < m->n_operations && code < ERR_END_)
		m->answers[i][code]++;
}

/* ---- writing one metric ---- */

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Append a label of a metric. @before: "{" or ",". The value @text is escaped. */
static void label(struct buf *out, const char *before, const char *name, const char *text)
{
	buf_addf(out, "%s%s=\"", before, name);
	for (; *text; text++) {
		const char *escaped = *text == '\\' ? "\\\\"
			: *text == '"'		    ? "\\\""
			: *text == '\n'		    ? "\\n"
						    : NULL;
		if (escaped)
			buf_add(out, escaped);
		else
			buf_append(out, text, 1);
	}
	buf_add(out, "\"");
}

static void value(struct buf *out, double number)
{
	buf_addf(out, " %.17g\n", number);
}

static void plain(
	struct buf *out, const char *name, const char *type, const char *help, double number)
{
	head(out, name, type, help);
	buf_add(out, name);
	value(out, number);
}

/* Append the line of a metric that has one label. */
static void row(struct buf *out, const char *name, const char *key, const char *text, double number)
{
	buf_add(out, name);
	label(out, "{", key, text);
	buf_add(out, "}");
	value(out, number);
}

static void histogram(
	struct buf *out, const char *name, const char *help, const struct stats_times *t)
{
	uint64_t n = 0;
	head(out, name, "histogram", help);
	for (size_t i = 0; i < STATS_BUCKETS; i++) {
		n += t->n[i];
		buf_addf(out, "%s_bucket{le=\"%g\"} %llu\n", name, stats_bounds[i],
			(unsigned long long)n);
	}
	buf_addf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.17g\n%s_count %llu\n", name,
		(unsigned long long)t->n_all, name, t->sum_s, name, (unsigned long long)t->n_all);
}

/* ---- writing each group of metrics ---- */

static void put_sessions(struct buf *out, const struct stats *s)
{
	head(out, "retort_sessions", "gauge", "Sessions that are not closed, by state.");
	for (size_t i = 0; i < STATS_STATES; i++)
		row(out, "retort_sessions", "state", stats_states[i], (double)s->n_sessions[i]);
	plain(out, "retort_sessions_expired_total", "counter",
		"Sessions ended at their time to live or idle limit.", (double)s->n_expired);
	plain(out, "retort_boxes", "gauge", "Boxes of sessions.", (double)s->n_boxes);
	plain(out, "retort_memory_limit_bytes", "gauge",
		"Sum of the memory limits of live sessions.", (double)s->memory_bytes);
	head(out, "retort_standby", "gauge", "Boxes kept ready, by template.");
	for (size_t i = 0; i < s->n_templates; i++) {
		buf_add(out, "retort_standby");
		label(out, "{", "template", s->templates[i].id);
		label(out, ",", "owner", s->templates[i].owner);
		buf_add(out, "}");
		value(out, s->templates[i].n_standby);
	}
}

static void put_steps(struct buf *out, const struct stats *s)
{
	const struct runtime *runtime;
	head(out, "retort_steps_total", "counter", "Steps that were run, by status.");
	for (unsigned i = 0; (runtime = runtime_at(i)) != NULL; i++)
		for (unsigned k = 0; k < RECORD_STATUS_END_; k++) {
			buf_add(out, "retort_steps_total");
			label(out, "{", "runtime", runtime->name);
			label(out, ",", "status", record_status_word((enum record_status)k));
			buf_add(out, "}");
			value(out, (double)s->steps.n[i][k]);
		}
	head(out, "retort_step_outcomes_total", "counter",
		"Steps that were run, by outcome for the session's state.");
	for (unsigned k = 0; k < RECORD_OUTCOME_END_; k++)
		row(out, "retort_step_outcomes_total", "outcome",
			record_outcome_word((enum record_outcome)k),
			(double)s->steps.n_outcomes[k]);
	histogram(out, "retort_step_seconds", "Wall time of steps.", &s->steps.wall);
	histogram(out, "retort_step_queued_seconds", "How long steps waited for their turn.",
		&s->steps.queued);
	plain(out, "retort_steps_running", "gauge", "Steps that run.", (double)s->n_working);
	plain(out, "retort_queued", "gauge", "Operations that wait for their session.",
		(double)s->n_queued);
	head(out, "retort_refused_total", "counter",
		"Refused operations, by the limit that was reached.");
	for (size_t i = 0; i < ADMIT_END_; i++)
		row(out, "retort_refused_total", "reason", stats_reasons[i],
			(double)s->n_refused[i]);
}

static void put_answer(struct buf *out, const char *operation, enum err_code code, double n)
{
	buf_add(out, "retort_operations_total");
	label(out, "{", "operation", operation);
	label(out, ",", "code", code ? err_word(code) : "ok");
	buf_add(out, "}");
	value(out, n);
}

static void put_answers(struct buf *out, const struct metrics *m)
{
	for (size_t i = 0; i < METRICS_END_; i++)
		plain(out, fronts[i].name, fronts[i].type, fronts[i].help, (double)m->fronts[i]);
	head(out, "retort_operations_total", "counter", "Operations, by the code of the answer.");
	for (size_t i = 0; i < m->n_operations; i++)
		for (size_t k = 0; k < ERR_END_; k++)
			if (m->answers[i][k] > 0)
				put_answer(out, operation_at(i)->name, (enum err_code)k,
					(double)m->answers[i][k]);
}

/* Append the counts of tool calls, one for each server and each way to end. The number of
 * servers is bounded, because the operator lists them in a file. */
static void put_calls(struct buf *out, const struct gate *gate)
{
	uint64_t n[GATE_ENDS], approvals[GATE_APPROVALS];
	const char *server;
	head(out, "retort_tool_calls_total", "counter", "Calls of tools, by result.");
	for (size_t i = 0; (server = gate_counted(gate, i, n)) != NULL; i++)
		for (size_t k = 0; k < GATE_ENDS; k++) {
			buf_add(out, "retort_tool_calls_total");
			label(out, "{", "end", gate_ends[k]);
			if (server[0])
				label(out, ",", "server", server);
			buf_add(out, "}");
			value(out, (double)n[k]);
		}
	gate_counted_approvals(gate, approvals);
	head(out, "retort_tool_approvals_total", "counter", "Approvals of tool calls, by answer.");
	for (size_t i = 0; i < GATE_APPROVALS; i++)
		row(out, "retort_tool_approvals_total", "state", gate_approvals[i],
			(double)approvals[i]);
}

static void put_network(struct buf *out, const struct gateway_totals *network)
{
	head(out, "retort_network_requests_total", "counter",
		"Names and connections that boxes asked the network for, by verdict.");
	for (unsigned i = 0; i < GATEWAY_VERDICT_END_; i++)
		row(out, "retort_network_requests_total", "verdict",
			gateway_verdict_word((enum gateway_verdict)i), (double)network->n[i]);
	head(out, "retort_network_bytes_total", "counter",
		"Bytes that went through the network of boxes, as boxes see them.");
	row(out, "retort_network_bytes_total", "direction", "in", (double)network->bytes_in);
	row(out, "retort_network_bytes_total", "direction", "out", (double)network->bytes_out);
}

static double resident_bytes(void)
{
	char text[128] = "";
	cleanup_fd int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	const char *second = n > 0 ? strchr(text, ' ') : NULL;
	return second ? (double)strtoll(second, NULL, 10) * (double)sysconf(_SC_PAGESIZE) : 0;
}

static double cpu_seconds(void)
{
	struct rusage u = {0};
	(void)getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void put_engine(struct buf *out, const struct stats *s, const char *version)
{
	plain(out, "retort_journal_bytes", "gauge", "Size of the journal's files.",
		(double)s->journal_bytes);
	plain(out, "retort_journal_changes_total", "counter",
		"Changes in the journal since it was made.", (double)s->n_journal_changes);
	plain(out, "process_resident_memory_bytes", "gauge", "Memory of the engine itself.",
		resident_bytes());
	plain(out, "process_cpu_seconds_total", "counter", "CPU time of the engine itself.",
		cpu_seconds());
	head(out, "retort_info", "gauge", "The engine.");
	row(out, "retort_info", "version", version, 1);
}

int metrics_write(struct buf *out, const struct operation_context *context)
{
	size_t before = out->bytes;
	struct stats stats;
	if (!principal_may_see_metrics(context->principal))
		return -EPERM;
	registry_stats(context->registry, &stats);
	put_sessions(out, &stats);
	put_steps(out, &stats);
	if (context->gate)
		put_calls(out, context->gate);
	put_network(out, &stats.network);
	put_engine(out, &stats, context->version);
	if (context->metrics)
		put_answers(out, context->metrics);
	int r = buf_error(out);
	if (r < 0)
		buf_cut(out, before);
	return r;
}
