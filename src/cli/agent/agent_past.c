/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/agent/agent_past.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/screen/grid.h"
#include "cli/view.h"
#include "cli/host/xdg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_COLUMNS = 80 };

static int find_dir(struct agent_past *p, struct err *err)
{
	char state[PATH_MAX];
	int r = xdg_state_dir(state, err);
	if (r < 0)
		return r;
	int n = snprintf(p->dir, sizeof p->dir, "%s/agents", state);
	if (n < 0 || (size_t)n >= sizeof p->dir)
		return err_set(err, ERR_USAGE,
			"the path of the state directory is longer than %d bytes", PATH_MAX - 1);
	if (!getcwd(p->directory, sizeof p->directory))
		p->directory[0] = '\0';
	r = xdg_make_dir(p->dir, err);
	if (r < 0)
		p->dir[0] = '\0';
	return r;
}

static int set_state(struct agent_past *p, struct err *err)
{
	int n = snprintf(p->state, sizeof p->state, "%s/%s", p->dir, p->id);
	return n > 0 && (size_t)n < sizeof p->state
		? 0
		: err_set(err, ERR_USAGE, "the path of the state directory is longer than %d bytes",
			  PATH_MAX - 1);
}

int agent_past_new(struct agent_past *p, struct err *err)
{
	*p = (struct agent_past){0};
	if (find_dir(p, &p->why) < 0) {
		p->dir[0] = '\0';
		return 0;
	}
	agent_store_new_id(p->id);
	return set_state(p, err);
}

/* ---- printing the list of saved agents ---- */

static int print_rows(FILE *to, const json_t *rows)
{
	static const char *const heads[] = {"AGENT", "STATUS", "CHANGED", "STEPS", "TASK"};
	size_t n = json_array_size(rows), width = grid_width(to);
	struct grid c = grid_new(heads, ARRAY_LEN(heads), n);
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(rows, i);
		grid_add(&c, json_get_text(row, "agent"));
		grid_add(&c, json_get_text(row, "status"));
		grid_add_time(&c, json_object_get(row, "changed_ms"));
		grid_addf(&c, "%" PRId64, json_get_int(row, "steps"));
		grid_add(&c, json_get_text(row, "task"));
	}
	return grid_print(&c, to, width ? width : USUAL_COLUMNS);
}

int agent_past_list(bool is_json, struct err *err)
{
	struct agent_past p = {0};
	int r = find_dir(&p, err);
	if (r < 0)
		return r;
	cleanup_json json_t *rows = agent_store_list(p.dir, "");
	cleanup_json json_t *all = rows ? json_pack("{s:O}", "agents", rows) : NULL;
	return !all ? 1 : is_json ? view_json(all) : print_rows(stdout, rows);
}

/* ---- choosing a saved agent to resume ---- */

/* Check, before anything is started, that the saved agent can be read and that no other process
 * works with it. Also learn whether the saved agent names its model. */
static int look_at(struct agent_past *p, struct err *err)
{
	struct stored_agent kept;
	int r = agent_store_open(&kept, p->dir, p->id, err);
	if (r < 0)
		return r;
	cleanup_json json_t *agent = agent_store_read(&kept, err);
	p->has_model = json_get_text(agent, "model")[0] != '\0';
	agent_store_close(&kept);
	r = agent ? 0 : -err_errno(err->code);
	return r;
}

int agent_past_find(struct agent_past *p, const char *id, struct err *err)
{
	*p = (struct agent_past){.is_resumed = true};
	int r = find_dir(p, err);
	if (r == 0)
		r = agent_store_find(p->id, p->dir, id, p->directory, err);
	if (r < 0 && err->code == ERR_NOT_FOUND && p->dir[0]) {
		json_t *rows = agent_store_list(p->dir, "");
		if (json_array_size(rows) > 0)
			(void)print_rows(stderr, rows);
		(void)err_hint(err,
			json_array_size(rows) > 0
				? "name one of these tasks: retort agent --resume ID"
				: "no task is saved yet");
		json_decref(rows);
	}
	if (r == 0)
		r = set_state(p, err);
	return r < 0 ? r : look_at(p, err);
}

int agent_past_check(const struct opt_set *set, struct err *err)
{
	static const char *const groups[] = {"Program", "Files", "Limits"};
	for (size_t i = 0; i < set->n_opts; i++)
		for (size_t k = 0; k < ARRAY_LEN(groups); k++) {
			if (set->source[i] != OPT_FROM_ARG ||
				strcmp(set->opts[i].group, groups[k]) != 0)
				continue;
			return err_fail(err, ERR_USAGE, "leave the option out, or begin a new task",
				"--%s: a resumed task keeps its box", set->opts[i].name);
		}
	return 0;
}
