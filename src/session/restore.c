/*
 * Restores the workspace's files. Init does it as the box's user, whatever user the engine runs as.
 *
 * First the workspace is listed and compared with the earlier list (shadow_diff()). The result is a
 * list of actions: remove, make, write, exchange names, set modes and times. Init performs them, at
 * most UNDER_WAY_MAX at once. The path of an action that fails is added to the list of lost files.
 * At the end the workspace is listed again, for the next step.
 *
 * Some work takes several rounds. A directory that the step made inaccessible must be made
 * accessible before it can be listed. Renamed files must get their old names back before others are
 * compared. If there are more files than can be listed, new ones are removed first. In these cases
 * is_partial is set, and after the actions the workspace is listed and compared again.
 *
 * Files in /tmp and /dev/shm are not saved. But those directories share the workspace's disk, and
 * files that a failed step left there would take disk space from the next step. So between steps
 * the names in them are noted, and after a failed step all new files are removed. Changed files
 * there are listed as lost, and so are changed files of volumes.
 *
 * Listing and comparing ten thousand files takes time, so a thread does it. While the thread works,
 * only it uses `struct restore`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/inside.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "session/box/lost_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { UNDER_WAY_MAX = 16 };

/* The directories that are cleaned after a failed step. Their paths are relative to the
 * workspace, which is mounted on /home/user. */
static const struct {
	enum init_file_root root;
	const char *from_workspace, *prefix;
} scratch[RESTORE_SCRATCH] = {
	{INIT_FILE_TMP, "../../tmp", "/tmp/"},
	{INIT_FILE_SHM, "../../dev/shm", "/dev/shm/"},
};

struct act {
	struct shadow_action action;
	enum init_file_root root;
};

struct restore {
	uv_work_t work;
	struct session *session;
	struct box *box; /* counted reference */
	/* Counted reference to the saved files that are to be restored. The actions point into
	 * them. */
	struct shadow *then;
	/* Lists of the files that exist now. Like @then, these lists own the paths to which
	 * @actions point. */
	struct workspace now, scratch[RESTORE_SCRATCH];
	struct workspace noted[RESTORE_SCRATCH]; /* lists from restore_note() */
	/* @noted is set, so files that are in @scratch but not in @noted will be removed. */
	bool has_noted;
	enum init_file_root root; /* root directory of the actions that are being added */
	struct act *actions;
	size_t n, room, n_sent, n_answered, n_good;
	bool is_at_work;   /* a thread is using this struct */
	bool is_cancelled; /* restore_cancel() was called; free this after the thread's work */
	bool is_planned;   /* the last attempt to list the workspace has succeeded */
	/* This restoration has taken over init's replies: they are sent to on_filed(). */
	bool has_begun;
	/* Order whose volumes are searched for changes since @since_ns. Such changes are listed
	 * as lost, because volumes are not restored. NULL: do not search. */
	const struct order_checked *order;
	int64_t since_ns;
	struct workspace after;
	/* After the present actions, the workspace must be listed and compared once more, and
	 * further actions follow. */
	bool is_partial;
	bool is_short; /* some actions failed because there was no disk space */
	bool is_again; /* actions that lacked disk space were already tried again */
	json_t *lost;
	void (*done)(struct session *s, json_t *lost);
};

/*
 * Return whether there is an action that reports a file as lost (SHADOW_LOST). The file's path is
 * the first @bytes bytes of @path. The actions from @first up to, but not including, @end are
 * sorted by path, and only these are searched.
 */
static bool is_lost(
	const struct restore *r, size_t first, size_t end, const char *path, size_t bytes)
{
	size_t low = first, high = end;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct shadow_action *a = &r->actions[middle].action;
		int order = strncmp(a->path, path, bytes);
		if (order == 0 && a->path[bytes] == '\0')
			return a->act == SHADOW_LOST;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/*
 * Drop the actions that would remove the journal of a database file that cannot be restored. Such a
 * database file stays as the step left it, so SQLite may need the journal in order to roll the
 * database back. For example, if "a.db" cannot be restored, "a.db-journal" is kept.
 * All removals are at the start of the list of actions.
 */
static void keep_journals(struct restore *r)
{
	static const char *const endings[] = {"-journal", "-wal", "-shm"};
	size_t first = 0, end = r->n, kept = 0;
	while (first < r->n && r->actions[first].action.act == SHADOW_REMOVE)
		first++;
	for (size_t i = r->n; i-- > first;)
		if (r->actions[i].action.act == SHADOW_MODE ||
			r->actions[i].action.act == SHADOW_TIME)
			end = i;
	for (size_t i = 0; i < r->n; i++) {
		const char *path = r->actions[i].action.path;
		size_t n = strlen(path);
		bool is_needed = false;
		for (size_t e = 0; i < first && !is_needed && e < ARRAY_LEN(endings); e++) {
			size_t bytes = strlen(endings[e]);
			is_needed = n > bytes && strcmp(path + n - bytes, endings[e]) == 0 &&
				is_lost(r, first, end, path, n - bytes);
		}
		if (!is_needed)
			r->actions[kept++] = r->actions[i];
	}
	r->n = kept;
}

static void add_lost(struct restore *r, const char *path)
{
	lost_files_add(&r->lost, "", path);
}

static void add_action(void *arg, const struct shadow_action *action)
{
	struct restore *r = arg;
	if (r->n == r->room) {
		size_t room = r->room ? r->room * 2 : 64;
		struct act *more = realloc(r->actions, room * sizeof *more);
		if (!more) {
			add_lost(r, action->path);
			return;
		}
		r->actions = more;
		r->room = room;
	}
	r->actions[r->n++] = (struct act){*action, r->root};
}

static int memory_file(const void *data, size_t bytes)
{
	cleanup_fd int fd = memfd_create("retort-file", MFD_CLOEXEC);
	if (fd < 0 || fd_write_all(fd, data, bytes) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return fd_take(&fd);
}

/* Send action @i to init. If that is not possible, list its path as lost. Returns: whether a
 * reply will arrive. */
static bool send_one(struct restore *r, size_t i)
{
	const struct shadow_action *a = &r->actions[i].action;
	static const enum init_file_act acts[] = {[SHADOW_REMOVE] = INIT_FILE_REMOVE,
		[SHADOW_MAKE] = INIT_FILE_DIR,
		[SHADOW_WRITE] = INIT_FILE_WRITE,
		[SHADOW_ANEW] = INIT_FILE_ANEW,
		[SHADOW_MOVE] = INIT_FILE_MOVE,
		[SHADOW_NAME] = INIT_FILE_NAME,
		[SHADOW_TIME] = INIT_FILE_TIME,
		[SHADOW_LINK] = INIT_FILE_LINK,
		[SHADOW_MODE] = INIT_FILE_MODE};
	char target[4096] = "";
	bool has_target = a->act == SHADOW_LINK || a->act == SHADOW_MOVE || a->act == SHADOW_NAME;
	if (a->act == SHADOW_LOST || (has_target && a->bytes >= sizeof target)) {
		add_lost(r, a->path);
		return false;
	}
	bool is_written = a->act == SHADOW_WRITE || a->act == SHADOW_ANEW;
	cleanup_fd int fd = is_written ? memory_file(a->data, a->bytes) : -1;
	if (has_target)
		memcpy(target, a->data, a->bytes);
	if (is_written && fd < 0) {
		add_lost(r, a->path);
		return false;
	}
	const struct init_file file = {.id = i,
		.act = acts[a->act],
		.root = r->actions[i].root,
		.path = a->path,
		.target = target,
		.mode = a->mode,
		.modified = a->modified,
		.fd = fd};
	return box_file(r->box, &file) == 0;
}

static void free_restore(struct restore *r)
{
	shadow_let_go(r->then);
	workspace_done(&r->now);
	workspace_done(&r->after);
	for (size_t i = 0; i < RESTORE_SCRATCH; i++) {
		workspace_done(&r->scratch[i]);
		workspace_done(&r->noted[i]);
	}
	json_decref(r->lost);
	box_let_go(r->box);
	free(r->actions);
	free(r);
}

static void finish(struct restore *r)
{
	struct session *s = r->session;
	json_t *lost = take_ptr(r->lost);
	void (*done)(struct session *, json_t *) = r->done;
	if (r->has_begun)
		r->box->filed = NULL;
	s->restoring = NULL;
	workspace_done(&s->before);
	s->before = r->after;
	s->is_shadow_due = true;
	r->after = (struct workspace){0};
	free_restore(r);
	done(s, lost);
}

static int scan_scratch(struct workspace *out, const struct box *box, size_t i)
{
	struct err err;
	cleanup_fd int fd = openat(box->workspace_fd, scratch[i].from_workspace,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : workspace_scan(out, fd, &err);
}

/* List the files in /tmp and /dev/shm. If one of the two directories cannot be listed, mark its
 * list as cut, so that no file is removed there. */
void restore_note(struct workspace noted[RESTORE_SCRATCH], const struct box *box)
{
	for (size_t i = 0; i < RESTORE_SCRATCH; i++)
		if (scan_scratch(&noted[i], box, i) < 0)
			noted[i].is_cut = true;
}

static void clear_scratch(struct restore *r)
{
	for (size_t i = 0; i < RESTORE_SCRATCH; i++) {
		workspace_done(&r->scratch[i]);
		if (r->noted[i].is_cut || scan_scratch(&r->scratch[i], r->box, i) < 0) {
			lost_files_add(&r->lost, scratch[i].prefix, "");
			continue;
		}
		lost_files_compare(&r->lost, scratch[i].prefix, &r->noted[i], &r->scratch[i]);
		r->is_partial |= r->scratch[i].is_cut;
		r->root = scratch[i].root;
		shadow_diff_new(&r->noted[i], &r->scratch[i], add_action, r);
		shadow_diff_mode(&r->noted[i], &r->scratch[i], add_action, r);
	}
}

/*
 * If the step made a directory inaccessible, add an action that gives the box's user access.
 * Returns: whether an action was added, which must be performed before the directory can be listed.
 */
static bool open_closed(struct restore *r, enum init_file_root root, const struct workspace *then,
	const char *from_workspace)
{
	struct stat st;
	if (fstatat(r->box->workspace_fd, from_workspace, &st,
		    AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0 ||
		(st.st_mode & S_IRWXU) == S_IRWXU || st.st_mode == then->mode)
		return false;
	r->root = root;
	add_action(r,
		&(struct shadow_action){
			.act = SHADOW_MODE, .path = ".", .mode = (st.st_mode & 07777) | S_IRWXU});
	return true;
}

static bool open_all_closed(struct restore *r)
{
	bool is_any = open_closed(r, INIT_FILE_HOME, shadow_files(r->then), "");
	for (size_t i = 0; i < RESTORE_SCRATCH && r->has_noted; i++)
		is_any |= open_closed(r, scratch[i].root, &r->noted[i], scratch[i].from_workspace);
	return is_any;
}

/*
 * Compare the workspace's files with the saved list @then, and plan the actions of the next round.
 * A round is a list of actions that init performs before the workspace is listed again. The round
 * is of the first of these kinds that applies:
 *
 * - Renames: if files were renamed after @then was saved, plan only to give them their old names
 *   back. Otherwise they would be removed under their new names, and programs that have them open
 *   would not see the restored content.
 * - Removals: if the workspace has more files than can be listed, plan only to remove new files.
 *   This kind does not apply if @then is not complete either.
 * - Rest: plan all other actions.
 *
 * A round of renames or removals sets is_partial, so another round follows it. A round of the rest
 * is usually the last one.
 * @is_stuck: no action of the previous round has succeeded. Then another round of renames or
 * removals would fail as well, so plan a round of the rest.
 */
static void plan_home(struct restore *r, bool is_stuck)
{
	const struct workspace *then = shadow_files(r->then);
	r->root = INIT_FILE_HOME;
	if (!is_stuck)
		shadow_diff_moved(then, &r->now, add_action, r);
	if (r->n > 0) {
		r->is_partial = true;
		return;
	}
	r->is_partial = r->now.is_cut && !then->is_cut && !is_stuck;
	if (r->is_partial) {
		shadow_diff_new(then, &r->now, add_action, r);
		return;
	}
	if (then->is_cut || r->now.is_cut)
		/* One of the lists @then and @now is not complete. A file that is missing in a
		 * list is not restored, so list the workspace itself as lost. */
		add_lost(r, ".");
	shadow_diff(r->then, &r->now, add_action, r);
	keep_journals(r);
}

/*
 * Plan the actions that init will perform next. They make the workspace's files equal to the saved
 * files and, if this is due, remove new files in /tmp and /dev/shm. If not all actions can be found
 * at once, is_partial is set: init performs the planned actions, and then this function is called
 * again. Returns: false if the workspace cannot be listed.
 */
static bool plan(struct restore *r)
{
	struct err err;
	bool is_stuck = r->is_partial && r->n_good == 0;
	r->n = r->n_sent = r->n_answered = r->n_good = 0;
	r->is_short = false;
	json_decref(take_ptr(r->lost));
	workspace_done(&r->now);
	r->is_partial = !is_stuck && open_all_closed(r);
	if (r->is_partial)
		return true;
	if (workspace_scan(&r->now, r->box->workspace_fd, &err) < 0)
		return false;
	plan_home(r, is_stuck);
	if (r->has_noted && !is_stuck)
		clear_scratch(r);
	return true;
}

static void work_plan(uv_work_t *work)
{
	struct restore *r = work->data;
	r->is_planned = plan(r);
}

static void work_look(uv_work_t *work)
{
	struct restore *r = work->data;
	struct err err;
	if (r->order)
		lost_files_volumes(&r->lost, r->order, r->box, r->since_ns);
	(void)workspace_scan(&r->after, r->box->workspace_fd, &err);
}

static void start(struct restore *r, uv_work_cb work, uv_after_work_cb done)
{
	r->work.data = r;
	r->is_at_work = true;
	r->session->n_handles++;
	if (uv_queue_work(r->session->engine->loop, &r->work, work, done) == 0)
		return;
	work(&r->work);
	done(&r->work, 0);
}

/* Take @r back from the thread that has worked on it. If the restoration was cancelled
 * meanwhile, free @r. Returns: false if the restoration was cancelled. */
static bool take_back(struct restore *r)
{
	struct session *s = r->session;
	bool is_awaited = !r->is_cancelled;
	r->is_at_work = false;
	if (!is_awaited)
		free_restore(r);
	if (s->state == SESSION_CLOSING)
		session_handle_gone(s);
	else
		s->n_handles--;
	return is_awaited;
}

/* End the restoration, because init does not reply any more. The box has ended. */
static void give_up(struct restore *r)
{
	struct session *s = r->session;
	struct err err;
	if (!is_rolling_back(s)) {
		add_lost(r, ".");
		finish(r);
		return;
	}
	err_set(&err, ERR_GONE, "the box ended unexpectedly");
	rollback_event(s, ROLLBACK_FAILED, &err);
}

static void on_looked(uv_work_t *work, int status)
{
	struct restore *r = work->data;
	(void)status; /* always 0, because the work is never cancelled */
	if (!take_back(r))
		return;
	if (r->box->is_over)
		give_up(r);
	else
		finish(r);
}

static void look(struct restore *r)
{
	const struct session *s = r->session;
	bool is_back = is_rolling_back(s) && s->rollback.cause != ROLLBACK_REVIVE;
	const struct checkpoint *to =
		is_rolling_back_for(s, ROLLBACK_UNDO) ? s->rollback.target : NULL;
	r->order = s->is_rebuilding || is_back ? s->order : NULL;
	r->since_ns = s->is_rebuilding ? s->rebuild_ns : to ? to->made_ns : s->sent_ns;
	start(r, work_look, on_looked);
}

static void on_planned(uv_work_t *work, int status);

/* Return whether to try those actions again that failed for lack of disk space. This
 * is done once, and only if other actions have succeeded, since these may have freed space. */
static bool may_fit_now(struct restore *r)
{
	bool is_worth_it = r->is_short && r->n_good > 0 && !r->is_again;
	r->is_again |= is_worth_it;
	return is_worth_it;
}

static void go_on(struct restore *r)
{
	while (r->n_sent < r->n && r->n_sent - r->n_answered < UNDER_WAY_MAX)
		if (!send_one(r, r->n_sent++))
			r->n_answered++;
	if (r->n_answered < r->n)
		return;
	if (r->is_partial || may_fit_now(r))
		start(r, work_plan, on_planned);
	else
		look(r);
}

static void on_filed(void *arg, uint64_t id, int status)
{
	struct restore *r = arg;
	if (r->is_at_work)
		/* A thread is listing files. It does so only while init owes no reply to an
		 * action, so this call is not such a reply. The box may have ended. Then
		 * on_planned() or on_looked() will notice that when the thread has finished. */
		return;
	if (r->box->is_over) {
		give_up(r);
		return;
	}
	if (id >= r->n_sent)
		/* This is init's late reply to a client's change of a file. take_init() has
		 * already told the client that the change has failed. */
		return;
	const struct act *a = id < r->n ? &r->actions[id] : NULL;
	bool is_so = a &&
		((a->action.act == SHADOW_REMOVE && status == -ENOENT) ||
			(a->action.act == SHADOW_MAKE && status == -EEXIST));
	r->n_good += status == 0;
	r->is_short |= status == -ENOSPC || status == -EDQUOT;
	if (status < 0 && a && !is_so && a->root == INIT_FILE_HOME && !r->is_partial)
		add_lost(r, a->action.path);
	r->n_answered++;
	go_on(r);
}

/* Have init's replies sent to this restoration. */
static void take_init(struct restore *r)
{
	if (r->has_begun)
		return;
	r->has_begun = true;
	/* This restoration would undo a client's pending change of a file, so fail the change. */
	if (r->box->filed)
		r->box->filed(r->box->filed_arg, 0, -ECANCELED);
	r->box->filed = on_filed;
	r->box->filed_arg = r;
}

static void on_planned(uv_work_t *work, int status)
{
	struct restore *r = work->data;
	(void)status; /* always 0, because the work is never cancelled */
	if (!take_back(r))
		return;
	if (r->box->is_over) {
		give_up(r);
	} else if (!r->is_planned) {
		add_lost(r, ".");
		look(r);
	} else {
		take_init(r);
		go_on(r);
	}
}

static void begin(struct restore *r)
{
	struct session *s = r->session;
	/*
	 * Decide whether to clean /tmp and /dev/shm.
	 * After a failed step or a rebuild, they are cleaned.
	 * For an undo, they are not cleaned, because the files that earlier steps left there must
	 * be kept.
	 * If the box is to be given up (ROLLBACK_HOST_FILES), they are not cleaned, because both
	 * directories end with the box.
	 */
	r->has_noted =
		!is_rolling_back_for(s, ROLLBACK_UNDO) && s->rollback.state != ROLLBACK_HOST_FILES;
	for (size_t i = 0; i < RESTORE_SCRATCH && r->has_noted; i++) {
		r->noted[i] = s->scratch[i];
		s->scratch[i] = (struct workspace){.is_cut = true};
	}
	start(r, work_plan, on_planned);
}

void restore_proceed(struct session *s)
{
	if (s->restoring)
		begin(s->restoring);
}

void restore_files(
	struct session *s, struct shadow *then, void (*done)(struct session *s, json_t *lost))
{
	struct restore *r = xnew(struct restore);
	*r = (struct restore){.session = s, .box = box_hold(s->box), .done = done};
	r->then = shadow_hold(then);
	s->restoring = r;
	if (!s->saving)
		begin(r);
}

void restore_cancel(struct session *s)
{
	struct restore *r = take_ptr(s->restoring);
	if (!r)
		return;
	if (r->has_begun)
		r->box->filed = NULL;
	if (r->is_at_work)
		r->is_cancelled = true;
	else
		free_restore(r);
}
