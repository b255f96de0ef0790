/*
 * Files that a client writes and removes in a session's workspace.
 *
 * Between two steps, such a change is a step of its own: a job in the session's queue, and a node
 * of the journal that refers to the content by its digest (store/file_step.h). So undo can revert
 * it, and a replay repeats it (put_file_redo()). The sequence is:
 *
 *     job_start_file()   hash the content, in a thread if it is long
 *     keep_content()     store it in the journal as a blob
 *     make_change()      let the box's init write it, so that the box's user owns the file
 *     on_changed()       commit the step, then answer; if that fails, undo the change
 *
 * While a step runs, the change is made at once (change_aside()), since a program may wait for the
 * file. Such a change belongs to the running step, and the journal gets no node for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/put_file.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/work.h"
#include "registry/admit.h"
#include "registry/files.h"
#include "registry/session_table.h"
#include "registry/entry.h"
#include "registry/replay.h"
#include "session/box/box.h"
#include "session/change.h"
#include "session/session.h"
#include "store/file_step.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MODE = 0644 | INIT_FILE_KEEP_MODE };

int put_file_clean_path(const char *path, char out[WIRE_PATH_BYTES], struct err *err)
{
	static const char home[] = "/home/user/";
	const char *at = strncmp(path, home, sizeof home - 1) == 0 ? path + sizeof home - 1 : path;
	size_t n_out = 0;
	bool is_bad = at == path && *at == '/';
	while (*at && !is_bad) {
		size_t n = strcspn(at, "/");
		bool is_up = n == 2 && strncmp(at, "..", 2) == 0;
		is_bad = is_up ? n_out == 0 : n_out + n + 2 > WIRE_PATH_BYTES;
		if (is_up) {
			while (n_out > 0 && out[--n_out] != '/')
				;
		} else if (!is_bad && n > 0 && !(n == 1 && *at == '.')) {
			out[n_out] = '/';
			n_out += n_out > 0;
			memcpy(out + n_out, at, n);
			n_out += n;
		}
		at += n;
		at += *at == '/';
	}
	out[n_out] = '\0';
	if (!is_bad && n_out > 0)
		return 0;
	return err_fail(err, ERR_USAGE, "give a path relative to it, such as data/sales.csv",
		"\"%.100s\" is not a path in the workspace", path);
}

/* Clean the path of a file to write or remove. Refuse to write to a path that ends in "/": it
 * names a directory, which can only be removed. */
static int clean_written(
	const char *path, bool is_removal, char out[WIRE_PATH_BYTES], struct err *err)
{
	size_t bytes = strlen(path);
	if (is_removal || bytes == 0 || path[bytes - 1] != '/')
		return put_file_clean_path(path, out, err);
	err_set(err, ERR_USAGE, "\"%.100s\" is a directory", path);
	return err_hint(err, "name a file in it, such as %.100sfile.txt", path);
}

static enum init_file_act act_of(bool is_removal, bool is_recursive)
{
	return !is_removal ? INIT_FILE_WRITE : is_recursive ? INIT_FILE_REMOVE : INIT_FILE_UNLINK;
}

static struct init_file file_of(enum init_file_act act, const char *path, int fd)
{
	return (struct init_file){
		.act = act, .path = path, .target = "", .mode = FILE_MODE, .fd = fd};
}

static json_t *done_json(const char *path, const char *step)
{
	return json_pack("{s:s, s:s*}", "path", path, "step", step);
}

/* ---- changes of files while a step runs ---- */

/* Id of a change that a client makes while a step runs. Requests to init that restore files have
 * ids that count up from 0, so they never have this id. */
static const uint64_t CHANGE_ID = UINT64_MAX;

struct aside {
	registry_done_fn *done;
	void *arg;
	struct box *box;
	struct session_table *table;
	char session[JOURNAL_ID_BYTES];
	char path[WIRE_PATH_BYTES];
};

static void on_filed(void *arg, uint64_t id, int status)
{
	struct aside *a = arg;
	struct err err;
	(void)id;
	struct box *box = a->box;
	box->filed = NULL;
	const struct entry *e = session_table_live(a->table, a->session);
	if (status == 0 && e && e->session && session_box(e->session) == box)
		session_files_changed(e->session);
	json_t *out = done_json(a->path, NULL);
	int r = change_judge(status, a->path, &err);
	a->done(a->arg, r < 0 ? NULL : out, r < 0 ? &err : NULL);
	json_decref(out);
	free(a);
	box_let_go(box);
}

static int change_aside(
	struct entry *e, struct init_file *file, registry_done_fn *done, void *arg, struct err *err)
{
	struct box *box = e->session ? session_box(e->session) : NULL;
	if (!box || box->filed)
		return err_set(err, ERR_BUSY, "the session is busy: ask again in a moment");
	struct aside *a = xnew(struct aside);
	a->done = done;
	a->arg = arg;
	a->box = box_hold(box);
	a->table = e->table;
	memcpy(a->session, e->id, sizeof a->session);
	snprintf(a->path, sizeof a->path, "%s", file->path);
	file->id = CHANGE_ID;
	box->filed = on_filed;
	box->filed_arg = a;
	session_touch(e->session);
	if (box_file(box, file) == 0)
		return 0;
	box->filed = NULL;
	box_let_go(box);
	free(a);
	return err_set(err, ERR_GONE, "the session's box is gone");
}

static bool is_running(const struct entry *e)
{
	return e->state == ENTRY_WORKING && e->first->kind == JOB_RUN && !e->replay;
}

/* ---- changes of files while no step runs: each change becomes a step ---- */

/* A computation of the digest of a file's content. It runs in a thread if the content is long.
 * Afterwards the content is stored in the journal. */
struct put_file_sum {
	struct work work;
	struct job *job; /* NULL if the job has ended before the thread */
	void *data;	 /* the content, mapped; NULL if it is empty */
	size_t bytes;
	char digest[DIGEST_BYTES];
};

static int map_content(struct job *job, struct put_file_sum *s, struct err *err)
{
	struct stat st;
	if (fstat(job->fd, &st) < 0)
		return err_sys(err, ERR_IO, errno, "hold the file's content");
	*s = (struct put_file_sum){.job = job, .bytes = (size_t)st.st_size};
	if (s->bytes > 0)
		s->data = mmap(NULL, s->bytes, PROT_READ, MAP_PRIVATE, job->fd, 0);
	if (s->data == MAP_FAILED)
		return err_sys(err, ERR_NO_MEMORY, errno, "hold the file's content");
	job->fd_bytes = s->bytes;
	return 0;
}

static void unmap_content(struct put_file_sum *s)
{
	if (s->data)
		(void)munmap(s->data, s->bytes);
}

static void sum(struct work *work)
{
	struct put_file_sum *s = container_of(work, struct put_file_sum, work);
	digest_text(s->digest, s->data, s->bytes);
}

static int commit(const struct job *job, char digest[DIGEST_BYTES], struct err *err)
{
	struct entry *e = job->entry;
	struct file_step file = {.is_removal = job->is_removal, .size_bytes = job->fd_bytes};
	struct journal_node node = {0};
	char *text;
	snprintf(file.path, sizeof file.path, "%s", job->text);
	memcpy(file.digest, job->step, sizeof file.digest);
	snprintf(node.parent, sizeof node.parent, "%s", e->head);
	snprintf(node.session, sizeof node.session, "%s", e->id);
	int r = file_step_write(&file, &node, &text, err);
	if (r < 0)
		return r;
	r = journal_commit(e->table->journal, &node, NULL, err);
	memcpy(digest, node.digest, sizeof node.digest);
	free(text);
	return r;
}

static void on_changed(void *arg, const struct err *err)
{
	struct job *job = arg;
	struct entry *e = job->entry;
	char step[DIGEST_BYTES];
	struct err error;
	if (err) {
		job_fail(job, err);
		return;
	}
	if (commit(job, step, &error) < 0) {
		job_take_back(job, &error);
		return;
	}
	memcpy(e->head, step, sizeof e->head);
	e->n_steps++;
	session_changed(e->session, step);
	json_t *out = done_json(job->text, step);
	entry_answer(e, out, NULL);
	json_decref(out);
}

static void make_change(struct job *job, int so_far, struct err *err)
{
	const struct init_file file =
		file_of(act_of(job->is_removal, job->is_forced), job->text, job->fd);
	int r = so_far;
	if (r >= 0)
		r = session_change(job->entry->session, &file, on_changed, job, err);
	if (r < 0)
		job_fail(job, err);
}

static void keep_content(struct put_file_sum *s)
{
	struct job *job = s->job;
	struct err err;
	memcpy(job->step, s->digest, sizeof job->step);
	int r = admit_blob(job->entry, s->data ? s->data : "", s->bytes, s->digest, &err);
	unmap_content(s);
	make_change(job, r, &err);
}

static void on_summed(struct work *work)
{
	struct put_file_sum *s = container_of(work, struct put_file_sum, work);
	if (s->job) {
		s->job->sum = NULL;
		keep_content(s);
	} else {
		unmap_content(s);
	}
	free(s);
}

void put_file_forget(struct put_file_sum *summing)
{
	summing->job = NULL;
}

void job_start_file(struct job *job)
{
	struct err err;
	struct put_file_sum now, *later = NULL;
	int r = job->is_removal ? 0 : map_content(job, &now, &err);
	if (job->is_removal || r < 0) {
		make_change(job, r, &err);
		return;
	}
	if (now.bytes > WORK_BYTES)
		later = xnew(struct put_file_sum);
	if (later) {
		*later = now;
		job->sum = later;
		work_begin(
			job->entry->table->engine->loop, WORK_READ, &later->work, sum, on_summed);
		return;
	}
	sum(&now.work);
	keep_content(&now);
}

/* Write the content of @fd to a file, or remove the file if @fd is -1. Owns: @fd is taken over. */
static void change(struct registry *r, const struct registry_file *what, int fd,
	registry_done_fn *done, void *arg)
{
	struct err err = {0};
	char path[WIRE_PATH_BYTES];
	bool is_removal = fd < 0;
	struct entry *e = clean_written(what->path, is_removal, path, &err) < 0
		? NULL
		: registry_find(r, what->session, &err);
	if (e && admit_rate(r, 1, &err) < 0)
		e = NULL;
	if (e && is_running(e)) {
		struct init_file file = file_of(act_of(is_removal, what->is_recursive), path, fd);
		if (change_aside(e, &file, done, arg, &err) < 0)
			done(arg, NULL, &err);
		fd_close(&fd);
		return;
	}
	if (!e) {
		fd_close(&fd);
		done(arg, NULL, &err);
		return;
	}
	struct job *job = job_new(JOB_FILE, path, strlen(path), done, arg);
	job->is_removal = is_removal;
	job->is_forced = what->is_recursive;
	job->fd = fd;
	job->fd_bytes = what->bytes;
	entry_add_job(e, job);
}

void registry_file_write(
	struct registry *r, const struct registry_file *file, registry_done_fn *done, void *arg)
{
	struct err err;
	int fd = step_memory_file(file->data, file->bytes);
	if (fd < 0) {
		err_sys(&err, ERR_IO, errno, "hold the file's content");
		done(arg, NULL, &err);
		return;
	}
	change(r, file, fd, done, arg);
}

void registry_file_remove(
	struct registry *r, const struct registry_file *file, registry_done_fn *done, void *arg)
{
	change(r, file, -1, done, arg);
}

/* ---- the replay of a change of a file ---- */

/* Get the content that a replayed step wrote. A recording has it in the step itself; the journal
 * has it as a blob. */
static int content_of(struct entry *e, const struct journal_node *node,
	const struct file_step *file, int *fd, struct err *err)
{
	char *data = NULL;
	size_t bytes = node->extra_bytes;
	if (file->is_removal)
		return 0;
	int r = e->is_unkept
		? 0
		: journal_blob_get(e->table->journal, file->digest, &data, &bytes, err);
	if (r < 0)
		return r;
	*fd = step_memory_file(e->is_unkept ? node->extra : data, bytes);
	free(data);
	return *fd < 0 ? err_sys(err, ERR_IO, errno, "hold the file's content") : 0;
}

int put_file_redo(
	struct entry *e, const struct journal_node *node, put_file_redone_fn *done, struct err *err)
{
	struct file_step step;
	cleanup_fd int fd = -1;
	int r = file_step_read(&step, node, err);
	char path[WIRE_PATH_BYTES] = "";
	if (r == 0)
		r = put_file_clean_path(step.path, path, err);
	if (r == 0)
		r = content_of(e, node, &step, &fd, err);
	if (r < 0)
		return r;
	/* The record does not say whether the client asked for a recursive removal. But only
	 * removals that succeeded are recorded. So if @path was a directory, the client did ask
	 * for a recursive removal. If @path was a file, a recursive removal removes just the
	 * file. So a recursive removal is right in both cases. */
	const struct init_file file = file_of(act_of(step.is_removal, true), path, fd);
	return session_change(e->session, &file, done, e, err);
}
