/*
 * Nobody has checked these documents. Members of wrong types are errors, and what is not known is
 * ignored. Texts with NUL are no JSON for jansson; sizes and numbers are bounded before use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "image/manifest.h"

#include "base/json.h"
#include "base/num.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

enum { PLATFORMS_BYTES = 160, TEXTS_MAX = 4096 };

static const char unknown[] = "unknown";

const char *image_architecture(void)
{
#if defined(__x86_64__)
	return "amd64";
#elif defined(__aarch64__)
	return "arm64";
#elif defined(__riscv)
	return "riscv64";
#else
	return unknown;
#endif
}

int image_check_size(uint64_t bytes, struct err *err)
{
	if (bytes <= IMAGE_LAYER_BYTES)
		return 0;
	return err_set(err, ERR_LIMIT, "the image has a layer of %s, limit %s",
		num_format_bytes(bytes).text, num_format_bytes(IMAGE_LAYER_BYTES).text);
}

static json_t *parse(const char *text, size_t bytes, const char *what, struct err *err)
{
	json_error_t why;
	json_t *root = bytes > IMAGE_DOCUMENT_BYTES
		? NULL
		: json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);
	if (json_is_object(root))
		return root;
	json_decref(root);
	(void)err_set(err, ERR_DAMAGED, "the %s of the image is no JSON object of up to %d MiB",
		what, IMAGE_DOCUMENT_BYTES >> 20);
	return NULL;
}

static int read_blob(const json_t *from, struct image_blob *out, struct err *err)
{
	unsigned char raw[DIGEST_RAW_BYTES];
	const char *digest = json_get_text(from, "digest");
	int64_t bytes = json_get_int(from, "size");
	if (strncmp(digest, "sha256:", 7) != 0 || digest_read(raw, digest + 7) < 0)
		return err_set(err, ERR_DAMAGED,
			"the image has a part without a SHA-256 digest: \"%.80s\"", digest);
	if (bytes < 0 || !json_is_integer(json_object_get(from, "size")))
		return err_set(err, ERR_DAMAGED, "the image has a part without a size");
	digest_write(out->digest, raw);
	out->bytes = (uint64_t)bytes;
	return 0;
}

/* ---- an index ---- */

/* Append "OS/ARCHITECTURE" to a list for a message, as long as there is room. */
static void add_platform(char list[PLATFORMS_BYTES], const json_t *platform)
{
	size_t n = strlen(list);
	char one[48];
	snprintf(one, sizeof one, "%s%.20s/%.20s", n ? ", " : "", json_get_text(platform, "os"),
		json_get_text(platform, "architecture"));
	if (!strstr(list, one + (n ? 2 : 0)) && n + strlen(one) < PLATFORMS_BYTES)
		snprintf(list + n, PLATFORMS_BYTES - n, "%s", one);
}

static bool fits(const json_t *platform, const char *architecture)
{
	const char *os = json_get_text(platform, "os");
	return strcmp(os, "linux") == 0 &&
		strcmp(json_get_text(platform, "architecture"), architecture) == 0;
}

/* A manifest without a platform is taken if it is the only one. Attestations are for the platform
 * unknown/unknown. */
static int choose(const json_t *manifests, const char *architecture, struct image_blob *chosen,
	struct err *err)
{
	char list[PLATFORMS_BYTES] = "";
	const json_t *one, *found = NULL;
	size_t i;
	json_array_foreach(json_unconst(manifests), i, one)
	{
		const json_t *platform = json_object_get(one, "platform");
		bool is_only = !platform && json_array_size(manifests) == 1;
		if (!found && (is_only || fits(platform, architecture)))
			found = one;
		if (platform && strcmp(json_get_text(platform, "os"), unknown) != 0)
			add_platform(list, platform);
	}
	if (found)
		return read_blob(found, chosen, err);
	return err_set(err, ERR_NOT_FOUND, "the image is not for linux/%s, but for: %s",
		architecture, list[0] ? list : "no platform");
}

/* ---- a manifest ---- */

static bool has_ending(const char *text, const char *ending)
{
	size_t n = strlen(text), m = strlen(ending);
	return n >= m && strcmp(text + n - m, ending) == 0;
}

/* The archive is told from its contents. Its media type only tells whether it is one. */
static bool is_archive(const char *type)
{
	static const char *const endings[] = {".tar", "+gzip", "+zstd", ".tar.gzip", ".tar.zstd"};
	for (size_t i = 0; i < ARRAY_LEN(endings); i++)
		if (has_ending(type, endings[i]))
			return true;
	return false;
}

static int read_layers(const json_t *layers, struct image_manifest *out, struct err *err)
{
	const json_t *layer;
	size_t i;
	int r = 0;
	if (json_array_size(layers) > IMAGE_LAYERS_MAX)
		return err_set(err, ERR_DAMAGED, "the image has %zu layers, limit %d",
			json_array_size(layers), IMAGE_LAYERS_MAX);
	json_array_foreach(json_unconst(layers), i, layer)
	{
		const char *type = json_get_text(layer, "mediaType");
		if (!is_archive(type))
			return err_set(err, ERR_DAMAGED,
				"the image has a layer that is no tar archive, but %.80s",
				type[0] ? type : "of no type");
		r = r < 0 ? r : read_blob(layer, &out->layers[out->n_layers++], err);
		r = r < 0 ? r : image_check_size(out->layers[i].bytes, err);
	}
	return r;
}

int image_manifest_read(const char *text, size_t bytes, const char *architecture,
	struct image_manifest *out, struct err *err)
{
	cleanup_json json_t *root = parse(text, bytes, "manifest", err);
	const json_t *manifests = json_object_get(root, "manifests");
	const json_t *layers = json_object_get(root, "layers");
	const json_t *config = json_object_get(root, "config");
	*out = (struct image_manifest){.is_index = json_is_array(manifests)};
	if (!root)
		return -err_errno(err->code);
	if (json_get_int(root, "schemaVersion") == 1)
		return err_fail(err, ERR_DAMAGED, "push it again with a tool of today",
			"the image is of an old kind, schema 1");
	if (out->is_index)
		return choose(manifests, architecture, &out->chosen, err);
	if (!json_is_array(layers) || !json_is_object(config))
		return err_set(
			err, ERR_DAMAGED, "the registry sent neither an index nor a manifest");
	int r = read_blob(config, &out->config, err);
	return r < 0 ? r : read_layers(layers, out, err);
}

/* ---- the configuration ---- */

/* Copy a list of texts. Null and a missing one are the same. */
static int copy_texts(
	json_t *out, const char *name, const json_t *from, const char *key, struct err *err)
{
	const json_t *list = json_object_get(from, key), *text;
	size_t i;
	if (!list || json_is_null(list))
		return 0;
	bool is_good = json_is_array(list) && json_array_size(list) <= TEXTS_MAX;
	json_array_foreach(json_unconst(list), i, text) is_good = is_good && json_is_string(text);
	if (!is_good)
		return err_set(err, ERR_DAMAGED, "`%s` of the image is no list of texts", key);
	json_put_shared(out, name, list);
	return 0;
}

static int copy_text(
	json_t *out, const char *name, const json_t *from, const char *key, struct err *err)
{
	const json_t *text = json_object_get(from, key);
	if (!text || json_is_null(text))
		return 0;
	if (!json_is_string(text))
		return err_set(err, ERR_DAMAGED, "`%s` of the image is no text", key);
	if (json_string_length(text) > 0)
		json_put_shared(out, name, text);
	return 0;
}

/* Copy the names of an object's members as a list. */
static int copy_names(
	json_t *out, const char *name, const json_t *from, const char *key, struct err *err)
{
	const json_t *object = json_object_get(from, key);
	const char *member;
	json_t *value, *names;
	if (!object || json_is_null(object))
		return 0;
	if (!json_is_object(object) || json_object_size(object) > TEXTS_MAX)
		return err_set(err, ERR_DAMAGED, "`%s` of the image is no object", key);
	names = json_need(json_array());
	json_object_foreach(json_unconst(object), member, value) json_add_text(names, member);
	json_put_new(out, name, names);
	return 0;
}

static int copy_config(json_t *out, const json_t *config, struct err *err)
{
	static const struct {
		int (*copy)(json_t *out, const char *name, const json_t *from, const char *key,
			struct err *err);
		const char *name, *key;
	} rows[] = {
		{copy_texts, "env", "Env"},
		{copy_texts, "entrypoint", "Entrypoint"},
		{copy_texts, "cmd", "Cmd"},
		{copy_texts, "shell", "Shell"},
		{copy_text, "workdir", "WorkingDir"},
		{copy_text, "user", "User"},
		{copy_text, "stop_signal", "StopSignal"},
		{copy_names, "ports", "ExposedPorts"},
		{copy_names, "volumes", "Volumes"},
	};
	const json_t *labels = json_object_get(config, "Labels");
	int r = 0;
	for (size_t i = 0; i < ARRAY_LEN(rows) && r == 0; i++)
		r = rows[i].copy(out, rows[i].name, config, rows[i].key, err);
	if (json_is_object(labels))
		json_put_shared(out, "labels", labels);
	return r;
}

static int copy_diffs(json_t *out, const json_t *root, unsigned n_layers, struct err *err)
{
	const json_t *diffs = json_object_get(json_object_get(root, "rootfs"), "diff_ids"), *diff;
	unsigned char raw[DIGEST_RAW_BYTES];
	char digest[DIGEST_BYTES];
	size_t i;
	if (json_array_size(diffs) != n_layers)
		return err_set(err, ERR_DAMAGED,
			"the manifest of the image has %u layers, but its configuration %zu",
			n_layers, json_array_size(diffs));
	json_t *list = json_need(json_array());
	json_put_new(out, "diffs", list);
	json_array_foreach(json_unconst(diffs), i, diff)
	{
		const char *text = json_is_string(diff) ? json_string_value(diff) : "";
		if (strncmp(text, "sha256:", 7) != 0 || digest_read(raw, text + 7) < 0)
			return err_set(err, ERR_DAMAGED,
				"the configuration of the image has a layer without a digest");
		digest_write(digest, raw);
		json_add_text(list, digest);
	}
	return 0;
}

json_t *image_config_read(const char *text, size_t bytes, const char *architecture,
	unsigned n_layers, struct err *err)
{
	cleanup_json json_t *root = parse(text, bytes, "configuration", err);
	cleanup_json json_t *out = json_need(json_object());
	char platform[PLATFORMS_BYTES] = "";
	if (!root)
		return NULL;
	add_platform(platform, root);
	if (!fits(root, architecture)) {
		(void)err_set(err, ERR_NOT_FOUND, "the image is for %s, and this host is linux/%s",
			platform, architecture);
		return NULL;
	}
	int r = copy_diffs(out, root, n_layers, err);
	r = r < 0 ? r : copy_text(out, "created", root, "created", err);
	r = r < 0 ? r : copy_text(out, "architecture", root, "architecture", err);
	r = r < 0 ? r : copy_config(out, json_object_get(root, "config"), err);
	return r < 0 ? NULL : take_ptr(out);
}
