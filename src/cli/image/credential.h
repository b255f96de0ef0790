/* Logins for registries, as docker and podman keep them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>

/*
 * Find the login for the registry @host: in $REGISTRY_AUTH_FILE, in containers/auth.json below
 * $XDG_RUNTIME_DIR and below the user's configuration, and in config.json of $DOCKER_CONFIG or
 * ~/.docker. If such a file names a program for the registry, docker-credential-NAME, the program
 * is asked. *@out: {"user", "secret"}, or NULL if there is none; the caller decrefs. Source:
 * containers-auth.json(5); docker's documentation of config.json; docker-credential-helpers.
 * Blocks: for the time of the program.
 * Errors: ERR_USAGE: a file cannot be read; ERR_NOT_FOUND: there is no such program; ERR_AUTH: it
 * has failed.
 */
int credential_find(const char *host, json_t **out, struct err *err);
