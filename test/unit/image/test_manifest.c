/* Documents of images. SPDX-License-Identifier: Apache-2.0 */
#include "image/manifest.h"

#include "base/json.h"

#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define A	     "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B	     "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define PART(digest) "{\"digest\": \"" digest "\", \"size\": 5, \"mediaType\": \"x.tar+gzip\"}"
#define ROW(os, arch, digest)                                                                      \
	"{\"digest\": \"" digest "\", \"size\": 5, \"platform\": {\"os\": \"" os                   \
	"\", \"architecture\": \"" arch "\"}}"

struct result {
	int r;
	struct image_manifest manifest;
	struct err err;
};

static struct result read_text(const char *text)
{
	struct result out = {.r = 0};
	out.r = image_manifest_read(text, strlen(text), "amd64", &out.manifest, &out.err);
	return out;
}

TEST(a_manifest)
{
	struct result got = read_text("{\"schemaVersion\": 2, \"config\": " PART(
		A) ", \"layers\": [" PART(B) "," PART(A) "], \"annotations\": {}}");
	CHECK_INT(got.r, 0);
	CHECK(!got.manifest.is_index);
	CHECK_STR(got.manifest.config.digest, &A[7]);
	CHECK_INT(got.manifest.n_layers, 2);
	CHECK_STR(got.manifest.layers[0].digest, &B[7]);
	CHECK_INT(got.manifest.layers[1].bytes, 5);
}

TEST(an_index)
{
	struct result got = read_text("{\"manifests\": [" ROW("unknown", "unknown", A) "," ROW(
		"linux", "s390x", A) "," ROW("linux", "amd64", B) "]}");
	CHECK_INT(got.r, 0);
	CHECK(got.manifest.is_index);
	CHECK_STR(got.manifest.chosen.digest, &B[7]);
	got = read_text(
		"{\"manifests\": [" ROW("windows", "amd64", A) "," ROW("linux", "arm", A) "]}");
	CHECK_INT(got.err.code, ERR_NOT_FOUND);
	CHECK_HAS(got.err.msg, "not for linux/amd64, but for: windows/amd64, linux/arm");
	/* Without a platform: taken if it is alone. */
	got = read_text("{\"manifests\": [{\"digest\": \"" A "\", \"size\": 1}]}");
	CHECK_STR(got.manifest.chosen.digest, &A[7]);
	got = read_text("{\"manifests\": []}");
	CHECK_INT(got.err.code, ERR_NOT_FOUND);
}

TEST(what_is_neither)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"", "no JSON object"},
		{"[]", "no JSON object"},
		{"{\"a\": 1, \"a\": 1}", "no JSON object"},
		{"{}", "neither an index nor a manifest"},
		{"{\"manifests\": {}}", "neither"},
		{"{\"schemaVersion\": 1}", "schema 1"},
		{"{\"config\": {}, \"layers\": []}", "without a SHA-256 digest"},
		{"{\"config\": {\"digest\": \"sha512:aa\", \"size\": 1}, \"layers\": []}",
			"without a SHA-256 digest"},
		{"{\"config\": {\"digest\": \"" A "\"}, \"layers\": []}", "without a size"},
		{"{\"config\": {\"digest\": \"" A "\", \"size\": -1}, \"layers\": []}",
			"without a size"},
		{"{\"config\": " PART(A) ", \"layers\": [1]}", "no tar archive"},
		{"{\"config\": " PART(A) ", \"layers\": [{\"mediaType\": \"application/wasm\"}]}",
			"no tar archive, but application/wasm"},
		{"{\"config\": " PART(A) ", \"layers\": [{\"mediaType\": \"a.tar\"}]}",
			"without a SHA-256"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct result got = read_text(rows[i].text);
		CHECK(got.r < 0);
		CHECK_HAS(got.err.msg, rows[i].says);
	}
}

TEST(too_many_layers)
{
	char *text = malloc(200 * 200);
	struct result got;
	int n = sprintf(text, "{\"config\": " PART(A) ", \"layers\": [");
	for (int i = 0; i < IMAGE_LAYERS_MAX + 1; i++)
		n += sprintf(text + n, "%s" PART(B), i ? "," : "");
	sprintf(text + n, "]}");
	got = read_text(text);
	CHECK_HAS(got.err.msg, "129 layers, limit 128");
	free(text);
}

static json_t *read_config(const char *text, unsigned n_layers, struct err *err)
{
	*err = (struct err){0};
	return image_config_read(text, strlen(text), "amd64", n_layers, err);
}

#define HEAD  "{\"os\": \"linux\", \"architecture\": \"amd64\""
#define DIFFS ", \"rootfs\": {\"diff_ids\": [\"" A "\"]}"

TEST(a_configuration)
{
	struct err err;
	cleanup_json json_t *got = read_config(HEAD DIFFS
		", \"config\": {\"Env\": [\"A=b\"], \"Cmd\": null, \"User\": \"\", \"WorkingDir\": \"/w\", "
		"\"ExposedPorts\": {\"80/tcp\": {}}, \"Volumes\": {\"/v\": {}}, \"Labels\": {\"a\": \"b\"}}}",
		1, &err);
	if (!CHECK(got))
		return;
	char *text = json_dumps(got, JSON_COMPACT | JSON_SORT_KEYS);
	CHECK_STR(text,
		"{\"architecture\":\"amd64\",\"diffs\":[\""
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaa\"],\"env\":[\"A=b\"],\"labels\":{\"a\":\"b\"},\"ports\":[\"80/tcp\"],"
		"\"volumes\":[\"/v\"],\"workdir\":\"/w\"}");
	free(text);
}

TEST(what_is_no_configuration)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"[]", "no JSON object"},
		{"{\"os\": \"linux\", \"architecture\": \"arm64\"" DIFFS "}",
			"the image is for linux/arm64, and this host is linux/amd64"},
		{"{}", "the image is for /, and"},
		{HEAD "}", "has 1 layers, but its configuration 0"},
		{HEAD ", \"rootfs\": {\"diff_ids\": [5]}}", "a layer without a digest"},
		{HEAD DIFFS ", \"config\": {\"Env\": [5]}}",
			"`Env` of the image is no list of texts"},
		{HEAD DIFFS ", \"config\": {\"Cmd\": \"x\"}}", "`Cmd`"},
		{HEAD DIFFS ", \"config\": {\"User\": 5}}", "`User` of the image is no text"},
		{HEAD DIFFS ", \"config\": {\"Volumes\": []}}",
			"`Volumes` of the image is no object"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err;
		cleanup_json json_t *got = read_config(rows[i].text, 1, &err);
		CHECK(!got);
		CHECK_HAS(err.msg, rows[i].says);
	}
}
