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
	uint64_t answers[][ERR_END_]; /* by operation, and code of the error */
};

/* ORDER enum metrics_of. */
static const struct {
	const char *name, *type, *help;
} fronts[METRICS_END_] = {
	{"retort_connections", "gauge", "Clients that are connected."},
	{"retort_requests_running", "gauge", "Requests under way."},
	{"retort_requests_total", "counter", "Requests that were answered."},
	{"retort_unauthorized_total", "counter", "Requests without a token that is known."},
	{"retort_full_total", "counter", "Connections and requests that found no room."},
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

/* ---- writing; the first failure stays ---- */

struct page {
	struct buf *out;
	int bad;
};

static void head(struct page *p, const char *name, const char *type, const char *help)
{
	if (p->bad == 0)
		p->bad = buf_addf(p->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* One label more: @text, with what would end it escaped. */
static void label(struct page *p, const char *before, const char *name, const char *text)
{
	if (p->bad == 0)
		p->bad = buf_addf(p->out, "%s%s=\"", before, name);
	for (; p->bad == 0 && *text; text++) {
		const char *escaped = *text == '\\' ? "\\\\"
			: *text == '"'		    ? "\\\""
			: *text == '\n'		    ? "\\n"
						    : NULL;
		p->bad = escaped ? buf_add(p->out, escaped) : buf_append(p->out, text, 1);
	}
	if (p->bad == 0)
		p->bad = buf_add(p->out, "\"");
}

static void value(struct page *p, double number)
{
	if (p->bad == 0)
		p->bad = buf_addf(p->out, " %.17g\n", number);
}

static void plain(
	struct page *p, const char *name, const char *type, const char *help, double number)
{
	head(p, name, type, help);
	if (p->bad == 0)
		p->bad = buf_add(p->out, name);
	value(p, number);
}

/* A line with one label. */
static void row(struct page *p, const char *name, const char *key, const char *text, double number)
{
	if (p->bad == 0)
		p->bad = buf_add(p->out, name);
	label(p, "{", key, text);
	if (p->bad == 0)
		p->bad = buf_add(p->out, "}");
	value(p, number);
}

static void histogram(
	struct page *p, const char *name, const char *help, const struct stats_times *t)
{
	uint64_t n = 0;
	head(p, name, "histogram", help);
	for (size_t i = 0; i < STATS_BUCKETS && p->bad == 0; i++) {
		n += t->n[i];
		p->bad = buf_addf(p->out, "%s_bucket{le=\"%g\"} %llu\n", name, stats_bounds[i],
			(unsigned long long)n);
	}
	if (p->bad == 0)
		p->bad = buf_addf(p->out,
			"%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.17g\n%s_count %llu\n", name,
			(unsigned long long)t->n_all, name, t->sum_s, name,
			(unsigned long long)t->n_all);
}

/* ---- what there is ---- */

static void put_sessions(struct page *p, const struct stats *s)
{
	head(p, "retort_sessions", "gauge", "Sessions that are not closed, by state.");
	for (size_t i = 0; i < STATS_STATES; i++)
		row(p, "retort_sessions", "state", stats_states[i], (double)s->n_sessions[i]);
	plain(p, "retort_sessions_expired_total", "counter",
		"Sessions whose time to live or idle limit was over.", (double)s->n_expired);
	plain(p, "retort_boxes", "gauge", "Boxes of sessions.", (double)s->n_boxes);
	plain(p, "retort_memory_limit_bytes", "gauge", "Memory limits of live sessions, added up.",
		(double)s->memory_bytes);
	head(p, "retort_standby", "gauge", "Boxes kept ready, by template.");
	for (size_t i = 0; i < s->n_templates && p->bad == 0; i++) {
		p->bad = buf_add(p->out, "retort_standby");
		label(p, "{", "template", s->templates[i].id);
		label(p, ",", "owner", s->templates[i].owner);
		if (p->bad == 0)
			p->bad = buf_add(p->out, "}");
		value(p, s->templates[i].n_standby);
	}
}

static void put_steps(struct page *p, const struct stats *s)
{
	const struct runtime *runtime;
	head(p, "retort_steps_total", "counter", "Steps that were run, by how they ended.");
	for (unsigned i = 0; (runtime = runtime_at(i)) != NULL; i++)
		for (unsigned k = 0; k < RECORD_STATUS_END_ && p->bad == 0; k++) {
			p->bad = buf_add(p->out, "retort_steps_total");
			label(p, "{", "runtime", runtime->name);
			label(p, ",", "status", record_status_word((enum record_status)k));
			if (p->bad == 0)
				p->bad = buf_add(p->out, "}");
			value(p, (double)s->steps.n[i][k]);
		}
	head(p, "retort_step_outcomes_total", "counter",
		"Steps that were run, by what became of their state.");
	for (unsigned k = 0; k < RECORD_OUTCOME_END_; k++)
		row(p, "retort_step_outcomes_total", "outcome",
			record_outcome_word((enum record_outcome)k),
			(double)s->steps.n_outcomes[k]);
	histogram(p, "retort_step_seconds", "Wall time of steps.", &s->steps.wall);
	histogram(p, "retort_step_queued_seconds", "How long steps waited for their turn.",
		&s->steps.queued);
	plain(p, "retort_steps_running", "gauge", "Steps that run.", (double)s->n_working);
	plain(p, "retort_queued", "gauge", "Operations that wait for their session.",
		(double)s->n_queued);
	head(p, "retort_refused_total", "counter", "What was refused, by the limit it was over.");
	for (size_t i = 0; i < ADMIT_END_; i++)
		row(p, "retort_refused_total", "reason", stats_reasons[i], (double)s->n_refused[i]);
}

static void put_answer(struct page *p, const char *operation, enum err_code code, double n)
{
	if (p->bad == 0)
		p->bad = buf_add(p->out, "retort_operations_total");
	label(p, "{", "operation", operation);
	label(p, ",", "code", code ? err_word(code) : "ok");
	if (p->bad == 0)
		p->bad = buf_add(p->out, "}");
	value(p, n);
}

static void put_answers(struct page *p, const struct metrics *m)
{
	for (size_t i = 0; i < METRICS_END_; i++)
		plain(p, fronts[i].name, fronts[i].type, fronts[i].help, (double)m->fronts[i]);
	head(p, "retort_operations_total", "counter", "Operations, by the code of the answer.");
	for (size_t i = 0; i < m->n_operations; i++)
		for (size_t k = 0; k < ERR_END_; k++)
			if (m->answers[i][k] > 0)
				put_answer(p, operation_at(i)->name, (enum err_code)k,
					(double)m->answers[i][k]);
}

/* Servers are those of a file of who runs the engine, so there are few. */
static void put_calls(struct page *p, const struct gate *gate)
{
	uint64_t n[GATE_ENDS], approvals[GATE_APPROVALS];
	const char *server;
	head(p, "retort_tool_calls_total", "counter", "Calls of tools, by how they ended.");
	for (size_t i = 0; (server = gate_counted(gate, i, n)) != NULL; i++)
		for (size_t k = 0; k < GATE_ENDS && p->bad == 0; k++) {
			p->bad = buf_add(p->out, "retort_tool_calls_total");
			label(p, "{", "end", gate_ends[k]);
			if (server[0])
				label(p, ",", "server", server);
			if (p->bad == 0)
				p->bad = buf_add(p->out, "}");
			value(p, (double)n[k]);
		}
	gate_counted_approvals(gate, approvals);
	head(p, "retort_tool_approvals_total", "counter",
		"What people were asked of calls, and said.");
	for (size_t i = 0; i < GATE_APPROVALS; i++)
		row(p, "retort_tool_approvals_total", "state", gate_approvals[i],
			(double)approvals[i]);
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

static void put_engine(struct page *p, const struct stats *s, const char *version)
{
	plain(p, "retort_journal_bytes", "gauge", "Size of the journal's files.",
		(double)s->journal_bytes);
	plain(p, "retort_journal_changes_total", "counter",
		"Changes in the journal since it was made.", (double)s->n_journal_changes);
	plain(p, "process_resident_memory_bytes", "gauge", "Memory of the engine itself.",
		resident_bytes());
	plain(p, "process_cpu_seconds_total", "counter", "CPU time of the engine itself.",
		cpu_seconds());
	head(p, "retort_info", "gauge", "The engine.");
	row(p, "retort_info", "version", version, 1);
}

int metrics_write(struct buf *out, const struct operation_context *context)
{
	size_t before = out->bytes;
	struct stats stats;
	struct page p = {.out = out};
	if (!principal_may_see_metrics(context->principal))
		return -EPERM;
	registry_stats(context->registry, &stats);
	put_sessions(&p, &stats);
	put_steps(&p, &stats);
	if (context->gate)
		put_calls(&p, context->gate);
	put_engine(&p, &stats, context->version);
	if (context->metrics)
		put_answers(&p, context->metrics);
	if (p.bad < 0)
		buf_cut(out, before);
	return p.bad;
}
