/*
 * Pulling an image: the manifest, through an index if there is one; the configuration; and the
 * layers. A mirror that does not have the image, or does not answer, is left for the registry.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "image/pull/pull.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/timer.h"
#include "image/manifest.h"
#include "image/pull/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENT_TRIES = 3, DOCUMENT_RETRY_MS = 1000 };

enum pull_stage { PULL_MANIFEST, PULL_CONFIG, PULL_LAYERS };

struct pull {
	struct pull_order order;
	struct image_ref ref, at; /* what the image is called, and where it is got */
	struct login login, mirror_login;
	bool is_mirror;	       /* `at` is the mirror */
	struct err mirror_err; /* why it was left, if it was */
	struct remote *remote;
	enum pull_stage stage;
	/* The document that is being got, and the digest that it has to have; "": any. */
	struct remote_get *get;
	struct buf text;
	char wanted[DIGEST_BYTES];
	char digest[DIGEST_BYTES]; /* of the manifest, or of the index that named it */
	unsigned n_tries;
	uv_timer_t timer;
	struct image_manifest manifest;
	json_t *config, *about;
	struct assembly *assembly;
	bool is_ending;
	struct err err; /* code ERR_NONE: all is well */
};

static void get_document(struct pull *p);

/* ---- logins ---- */

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static struct login copy_login(struct login login)
{
	return (struct login){.user = copy(login.user), .secret = copy(login.secret)};
}

static void free_login(struct login login)
{
	char *secret = (char *)(uintptr_t)login.secret;
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
	free((char *)(uintptr_t)login.user);
}

/* ---- the end ---- */

static void free_pull(struct pull *p)
{
	json_decref(p->config);
	json_decref(p->about);
	buf_done(&p->text);
	free_login(p->login);
	free_login(p->mirror_login);
	free(p);
}

static void on_closed(uv_handle_t *handle)
{
	struct pull *p = handle->data;
	const struct pull_order order = p->order;
	const struct err err = p->err;
	json_t *about = take_ptr(p->about);
	free_pull(p);
	order.done(
		order.arg, err.code == ERR_NONE ? about : NULL, err.code == ERR_NONE ? NULL : &err);
	json_decref(about);
}

static void on_assembly_closed(void *arg)
{
	struct pull *p = arg;
	remote_close(take_ptr(p->remote));
	uv_close((uv_handle_t *)&p->timer, on_closed);
}

/* Not in a callback of the remote, which is closed here. */
static void on_end(uv_timer_t *timer)
{
	struct pull *p = timer->data;
	if (p->get)
		remote_cancel(take_ptr(p->get));
	if (p->assembly)
		assembly_close(take_ptr(p->assembly), on_assembly_closed);
	else
		on_assembly_closed(p);
}

/* Say what the mirror has said, too. */
static void add_mirror(struct pull *p)
{
	struct err both;
	(void)err_set(
		&both, p->err.code, "%.150s; the mirror: %.90s", p->err.msg, p->mirror_err.msg);
	if (p->err.hint[0])
		(void)err_hint(&both, "%s", p->err.hint);
	p->err = both;
}

static void end(struct pull *p, const struct err *err)
{
	if (p->is_ending)
		return;
	p->is_ending = true;
	if (err)
		p->err = *err;
	if (err && p->mirror_err.code != ERR_NONE)
		add_mirror(p);
	timer_start(&p->timer, on_end, 0, 0);
}

void pull_cancel(struct pull *p)
{
	struct err err;
	(void)err_set(&err, ERR_INTERRUPTED, "the pull was ended; what was downloaded is kept");
	if (!p->assembly || !assembly_is_recording(p->assembly))
		end(p, &err);
}

/* ---- layers ---- */

static void on_assembled(void *arg, const json_t *about, const struct err *err)
{
	struct pull *p = arg;
	p->about = json_incref(json_unconst(about));
	end(p, err);
}

static void on_progress(void *arg, const struct pull_progress *progress)
{
	const struct pull *p = arg;
	if (p->order.progress && !p->is_ending)
		p->order.progress(p->order.arg, progress);
}

static void begin_layers(struct pull *p)
{
	struct assembly_order order = {.loop = p->order.loop,
		.store = p->order.store,
		.name = p->ref,
		.manifest = &p->manifest,
		.config = p->config,
		.remote = p->remote,
		.progress = on_progress,
		.done = on_assembled,
		.arg = p};
	memcpy(order.digest, p->digest, sizeof order.digest);
	assembly_start(&p->assembly, &order);
}

/* ---- documents ---- */

static int take_manifest(struct pull *p, struct err *err)
{
	bool was_index = p->wanted[0] && strcmp(p->wanted, p->digest) != 0;
	int r = image_manifest_read(
		buf_str(&p->text), p->text.bytes, image_architecture(), &p->manifest, err);
	if (r < 0)
		return r;
	if (p->manifest.is_index && was_index)
		return err_set(err, ERR_DAMAGED, "the image has an index in its index");
	if (!p->manifest.is_index)
		p->stage = PULL_CONFIG;
	memcpy(p->wanted,
		p->manifest.is_index ? p->manifest.chosen.digest : p->manifest.config.digest,
		sizeof p->wanted);
	return 0;
}

static int take_document(struct pull *p, struct err *err)
{
	char digest[DIGEST_BYTES];
	digest_text(digest, buf_str(&p->text), p->text.bytes);
	if (p->wanted[0] && strcmp(digest, p->wanted) != 0)
		return err_set(err, ERR_DAMAGED,
			"a document of the image has the digest %.12s…, and should have %.12s…",
			digest, p->wanted);
	if (!p->digest[0])
		memcpy(p->digest, digest, sizeof digest);
	if (p->stage == PULL_MANIFEST)
		return take_manifest(p, err);
	p->config = image_config_read(
		buf_str(&p->text), p->text.bytes, image_architecture(), p->manifest.n_layers, err);
	if (!p->config)
		return -err_errno(err->code);
	p->stage = PULL_LAYERS;
	return 0;
}

static void on_retry(uv_timer_t *timer)
{
	get_document(timer->data);
}

static int open_remote(struct pull *p, struct err *err)
{
	const struct remote_config config = {.loop = p->order.loop,
		.image = &p->ref,
		.at = &p->at,
		.login = p->is_mirror ? p->mirror_login : p->login};
	return remote_open(&p->remote, &config, err);
}

/* Leave the mirror. Not in a callback of the remote, which is closed here. */
static void on_fall_back(uv_timer_t *timer)
{
	struct pull *p = timer->data;
	struct err err;
	remote_close(take_ptr(p->remote));
	p->is_mirror = false;
	p->at = p->ref;
	p->n_tries = 0;
	if (open_remote(p, &err) < 0)
		end(p, &err);
	else
		get_document(p);
}

static int on_data(void *arg, const char *data, size_t bytes)
{
	struct pull *p = arg;
	return buf_append(&p->text, data, bytes);
}

static void on_document(void *arg, bool is_cut, uint64_t wait_ms, const struct err *err)
{
	struct pull *p = arg;
	struct err wrong;
	p->get = NULL;
	if (p->is_ending) /* the timer is for the end now */
		return;
	if (err && is_cut && ++p->n_tries < DOCUMENT_TRIES) {
		timer_start(&p->timer, on_retry,
			wait_ms ? wait_ms : (uint64_t)DOCUMENT_RETRY_MS * p->n_tries, 0);
	} else if (err && p->is_mirror && !p->digest[0]) {
		p->mirror_err = *err;
		timer_start(&p->timer, on_fall_back, 0, 0);
	} else if (err) {
		end(p, err);
	} else if (take_document(p, &wrong) < 0) {
		end(p, &wrong);
	} else if (p->stage == PULL_LAYERS) {
		begin_layers(p);
	} else {
		p->n_tries = 0;
		get_document(p);
	}
}

static void get_document(struct pull *p)
{
	struct err err;
	char name[IMAGE_TAG_BYTES + DIGEST_BYTES];
	if (p->wanted[0])
		snprintf(name, sizeof name, "sha256:%s", p->wanted);
	else
		snprintf(name, sizeof name, "%s", p->ref.tag);
	buf_clear(&p->text);
	const struct remote_order order = {
		.kind = p->stage == PULL_MANIFEST ? REMOTE_MANIFEST : REMOTE_BLOB,
		.name = name,
		.max_bytes = IMAGE_DOCUMENT_BYTES,
		.data = on_data,
		.done = on_document,
		.arg = p};
	if (remote_get(&p->get, p->remote, &order, &err) < 0)
		end(p, &err);
}

/* ---- the start ---- */

/* Find out where the image is on the mirror, a HOST[:PORT][/PATH]. */
static int find_mirror(struct pull *p, const char *mirror, struct err *err)
{
	char name[2 * IMAGE_NAME_BYTES];
	snprintf(name, sizeof name, "%s/%s", mirror, p->ref.path);
	size_t n = strcspn(mirror, "/");
	if (image_ref_parse(&p->at, name, err) < 0 || strlen(p->at.host) != n ||
		strncmp(p->at.host, mirror, n) != 0)
		return err_fail(err, ERR_USAGE, "a mirror is HOST[:PORT][/PATH]",
			"no mirror: \"%.100s\"", mirror);
	p->is_mirror = true;
	return 0;
}

int pull_start(struct pull **out, const struct pull_order *order, struct err *err)
{
	struct pull *p = xnew(struct pull);
	p->order = *order;
	p->login = copy_login(order->login);
	p->mirror_login = copy_login(order->mirror_login);
	p->text = BUF_INIT(IMAGE_DOCUMENT_BYTES);
	int r = image_ref_parse(&p->ref, order->name, err);
	p->at = p->ref;
	if (r == 0 && order->mirror)
		r = find_mirror(p, order->mirror, err);
	if (r == 0)
		r = open_remote(p, err);
	if (r < 0) {
		free_pull(p);
		return r;
	}
	memcpy(p->wanted, p->ref.digest, sizeof p->wanted);
	(void)uv_timer_init(order->loop, &p->timer);
	p->timer.data = p;
	*out = p;
	timer_start(&p->timer, on_retry, 0, 0);
	return 0;
}
