/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan_case.h"

#include "plan/machine/flow.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum { LABELS_MAX_BYTES = 64 << 20, TEXT_MAX_BYTES = LEX_SOURCE_MAX_BYTES + (1 << 17) };

bool case_has_flows(const struct plan_request *req)
{
	return req->tools_path || req->policy_path || req->record_path || req->resume_path ||
		req->model;
}

static struct source source_of(const char *path, bool is_text, const char *word, const char *text)
{
	const char *name = is_text ? word : strcmp(path, "-") == 0 ? "<stdin>" : path;
	return (struct source){name, text, strlen(text)};
}

/* As plan_take(), but an error begins with the option that names the file. */
static int take_option(
	const char *option, const char *what, bool is_text, struct buf *out, struct err *err)
{
	int r = plan_take(what, is_text, out, err);
	return r < 0 && !is_text ? err_wrap(err, "%s", option) : r;
}

int case_read(struct plan_case *c, const struct plan_request *req, struct err *err)
{
	c->req = req;
	c->request = req->request;
	c->may_start = !req->is_text || req->may_start;
	c->plan_text = c->policy_text = c->tools_text = BUF_INIT(TEXT_MAX_BYTES);
	int r = req->path ? plan_take(req->path, req->is_text, &c->plan_text, err) : 0;
	if (r == 0 && req->policy_path && c->is_policy_operand)
		r = plan_take(req->policy_path, req->is_text, &c->policy_text, err);
	else if (r == 0 && req->policy_path)
		r = take_option("--policy", req->policy_path, req->is_text, &c->policy_text, err);
	if (r == 0 && req->tools_path)
		r = take_option("--tools", req->tools_path, req->is_text, &c->tools_text, err);
	if (r < 0)
		return r;
	if (req->path)
		c->plan = source_of(req->path, req->is_text, "plan", buf_str(&c->plan_text));
	if (req->policy_path)
		c->policy_src = source_of(
			req->policy_path, req->is_text, "policy", buf_str(&c->policy_text));
	if (req->tools_path)
		c->tools_source = buf_str(&c->tools_text);
	return 0;
}

int case_open(struct plan_case *c, struct err *err)
{
	const struct plan_request *req = c->req;
	/* Only servers that the text of the plan or the policy names are started. */
	const struct plan_tools_config config = {.text = c->tools_source,
		.name = req->tools_name			   ? req->tools_name
			: req->is_text || !req->tools_path ? "tools"
							   : req->tools_path,
		.may_start = c->may_start,
		.has_signals = req->has_signals,
		.plan = c->plan.text,
		.policy = c->policy_src.text,
		.model = c->may_start ? req->model : NULL,
		.key_file = req->key_file,
		.stop = req->stop};
	int r = plan_tools_open(&c->opened, &config, err);
	if (r < 0)
		return r;
	c->tools = plan_tools_provider(c->opened);
	c->labels = labels_new(LABELS_MAX_BYTES);
	if (!c->labels)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for labels");
	return policy_parse(&c->policy, c->policy_src.text ? &c->policy_src : NULL, c->tools->tools,
		       c->labels, &c->policy_diags) < 0
		? PLAN_INVALID
		: 0;
}

static uint32_t of_literal(void *ctx, struct val literal)
{
	return ground_label(ctx, literal);
}

/* Return the set of the plan's own origins. A condition on data with only these origins causes no
 * implicit flow. */
static uint32_t quiet(struct labels *all)
{
	static const char *const own[] = {"plan", "user", "policy"};
	uint32_t set = 0;
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		set = label_union(
			all, set, label_set(all, label_atom(all, own[i], strlen(own[i]))));
	return set;
}

/* In a plan without tools, an undefined name that is called may be meant as a tool. Add a hint to
 * such diagnostics. */
static void hint_tools(struct diags *all, const struct source *src, bool is_text)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->item[i].code == P_UNDEFINED && !all->item[i].hint[0] &&
			all->item[i].end < src->bytes && strchr(".(", src->text[all->item[i].end]))
			snprintf(all->item[i].hint, DIAG_HINT_BYTES, "%s",
				is_text ? "if it is a tool, add it to `tools`"
					: "if it is a tool: --tools FILE declares the tools");
}

static int set_up(struct plan_case *c, struct program_setup *setup)
{
	struct heap *h = &c->policy.heap;
	if (ground_init(&c->ground, h, c->request, &c->policy) < 0 ||
		policy_listed_init(&c->listed, &c->policy, h, ground_says, &c->ground) < 0)
		return -1;
	*setup = (struct program_setup){.tools = c->tools->tools,
		.labels = c->labels,
		.literals = {.ctx = &c->ground, .label = of_literal, .numbers = c->ground.numbers},
		.quiet = quiet(c->labels)};
	return 0;
}

int case_load(struct plan_case *c, struct err *err)
{
	const struct plan_request *req = c->req;
	/* The Starlark dialect is only for plans without tools. */
	struct dialect dialect = req->dialect == PLAN_DIALECT_STARLARK && !c->tools
		? DIALECT_STARLARK
		: DIALECT_PLAN;
	struct heap_limits limits = PROGRAM_LIMITS;
	struct program_setup setup = {0};
	uint64_t seed[2] = {0};
	/* Early at boot the kernel may have no randomness yet. In that case hashes are
	 * predictable. */
	(void)!getrandom(seed, sizeof seed, GRND_NONBLOCK);
	dialect.while_loops |= req->has_while;
	dialect.recursion |= req->has_recursion;
	limits.fuel = req->fuel ? req->fuel : limits.fuel;
	limits.bytes = req->memory_bytes ? (size_t)req->memory_bytes : limits.bytes;
	if (c->tools && set_up(c, &setup) < 0)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for the policy");
	if (program_load_with(&c->p, &c->plan, &dialect, &limits, seed, &setup) == 0)
		return 0;
	if (!c->tools || c->tools->tools->n == 0)
		hint_tools(&c->p.diags, &c->plan, req->is_text);
	return PLAN_INVALID;
}

int case_check(struct plan_case *c)
{
	c->check = (struct check){.heap = &c->p.heap,
		.src = c->p.src,
		.tree = c->p.tree,
		.policy = &c->policy,
		.request = c->request,
		.diags = &c->p.diags,
		.has_margin = c->req->is_explained};
	int r = check_plan(&c->check);
	c->p.checked = c->check.calls;
	c->p.n_checked = c->check.n_calls;
	return r < 0 ? PLAN_INVALID : c->check.n_denied > 0 ? PLAN_DENIED : PLAN_OK;
}

int case_report(const struct plan_case *c, struct buf *out, bool is_json)
{
	return c->policy_diags.n > 0 ? diags_report(out, &c->policy_src, &c->policy_diags, is_json)
				     : diags_report(out, &c->plan, &c->p.diags, is_json);
}

void case_done(struct plan_case *c)
{
	program_done(&c->p);
	policy_done(&c->policy);
	labels_free(c->labels);
	plan_tools_close(c->opened);
	buf_done(&c->plan_text);
	buf_done(&c->policy_text);
	buf_done(&c->tools_text);
}
