# SPDX-License-Identifier: Apache-2.0
# Install packages into the layer of a template: the step that `template.build` runs in a box.
#
#   /build/in      what to install, one per line: pip, npm, apt. The lists that an earlier build has locked,
#                  if they are to be installed again: pip.lock, package.json and package-lock.json, apt.lock.
#                  upgrade, if it is there: also what the host has in an older version
#   /build/layer   the layer: a tree whose root is the box's
#   /build/out     what was installed: packages, lines of kind, name, version and hash with tabs between
#                  them; and the locked lists, in the form in which they are taken from /build/in
#   /build/cache   cache of the package managers, if this build has it
#
# Each manager first decides what to install, and writes the locked list; then it installs what is in the list
# and has its hash. No manager runs as root: files belong to the box's user, and scripts of Debian packages
# (preinst, postinst) are not run.
set -euo pipefail
in=/build/in out=/build/out layer=/build/layer
cache=/build/cache
[ -d $cache ] || cache=/tmp/cache
export PIP_CACHE_DIR=$cache/pip NPM_CONFIG_CACHE=$cache/npm NPM_CONFIG_LOGS_MAX=0
export PIP_BREAK_SYSTEM_PACKAGES=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_PROGRESS_BAR=off
export NPM_CONFIG_UPDATE_NOTIFIER=false NPM_CONFIG_AUDIT=false NPM_CONFIG_FUND=false NPM_CONFIG_PROGRESS=false
export NPM_CONFIG_OMIT_LOCKFILE_REGISTRY_RESOLVED=true NPM_CONFIG_LOGLEVEL=warn
recipe=${BASH_SOURCE[0]%/*}
unset PIP_PREFIX PYTHONPATH # of a virtual environment: where sessions install

say() { printf '==> %s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 1; }
is_wanted() { [ -s "$in/$1" ]; }
need() { command -v "$1" >/dev/null || fail "this host has no $1: apt install $2"; }

pip_install() {
	python3 -m pip --version >/dev/null 2>&1 || fail "$(command -v python3 || echo python3) has no pip: apt install python3-pip"
	if [ -e $in/pip.lock ]; then
		cp $in/pip.lock $out/pip.lock
	else
		say "pip: resolving $(paste -sd' ' $in/pip)"
		local upgrade=()
		if [ -e $in/upgrade ]; then upgrade=(--upgrade); fi
		python3 -m pip install --dry-run --quiet "${upgrade[@]}" --report /tmp/report.json --requirement $in/pip
		python3 "$recipe/pip_lock.py" /tmp/report.json >$out/pip.lock
	fi
	if ! [ -s $out/pip.lock ]; then
		say "pip: the host's Python has all of this"
		return
	fi
	say "pip: installing $(cut -d' ' -f1 $out/pip.lock | paste -sd' ')"
	python3 -m pip install --quiet --root $layer --no-deps --ignore-installed --no-compile \
		--no-warn-script-location --require-hashes --requirement $out/pip.lock
	sed -En 's/^([^=]+)==([^ ]+) --hash=(.*)$/pip\t\1\t\2\t\3/p' $out/pip.lock >>$out/packages
	# Boxes have files of their own there.
	if [ -e $layer/tmp ] || [ -e $layer/home/user ]; then
		fail "$(command -v python3) is below /tmp or /home/user, where boxes do not see packages of a template: choose a Python elsewhere"
	fi
	# Nobody can write __pycache__ of a template. The hash of the source is in the file instead of its time,
	# and nobody compares it: so the same packages make the same layer.
	find $layer -type d -name site-packages -o -type d -name dist-packages | while IFS= read -r site; do
		python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash -s $layer -p / "$site" >/dev/null || :
	done
}

npm_install() {
	need npm npm
	local words
	mapfile -t words <$in/npm
	cd $layer
	if [ -e $in/package-lock.json ]; then
		cp $in/package.json $in/package-lock.json .
		say "npm: installing the locked packages"
		npm ci
	else
		printf '{"name": "template", "private": true}\n' >package.json
		say "npm: installing ${words[*]}"
		npm install -- "${words[@]}"
	fi
	node "$recipe/npm_list.js" package-lock.json >>$out/packages
	mv package.json package-lock.json $out/
	# programs of the packages are found in PATH
	if [ -d node_modules/.bin ]; then
		mkdir -p usr/local/bin
		local program
		for program in node_modules/.bin/*; do
			ln -sf "../../../$program" usr/local/bin/
		done
	fi
}

# apt reads this file before everything else
apt_configure() {
	cat >/tmp/apt/conf <<-END
		Dir::Etc::parts "/tmp/apt/parts";
		Dir::Etc::main "/tmp/apt/parts/main";
		Dir::State "/tmp/apt";
		Dir::State::Lists "$cache/apt/lists";
		Dir::State::status "/var/lib/dpkg/status";
		Dir::Cache "/tmp/apt";
		Dir::Cache::Archives "$cache/apt/archives";
		Debug::NoLocking "1";
		APT::Sandbox::User "";
		APT::Install-Recommends "0";
		Acquire::Retries "2";
		quiet "2";
	END
	if ! [ -d /etc/apt/preferences.d ]; then
		echo 'Dir::Etc::preferencesparts "/tmp/apt/parts";' >>/tmp/apt/conf
	fi
	export APT_CONFIG=/tmp/apt/conf
}

# Print name, version and file of each package that apt would install, in the order of installation
apt_plan() {
	apt-get install --simulate --allow-downgrades -- "$@" |
		sed -En 's/^Inst ([^ :]+)(:[^ ]+)?( \[[^]]*\])? \(([^ ]+) .*\[([^]]+)\].*$/\1 \4 \5/p' |
		while read -r package version arch; do
			printf '%s %s %s_%s_%s.deb\n' "$package" "$version" "$package" "${version//:/%3a}" "$arch"
		done
}

apt_install() {
	need apt-get apt
	[ -e /var/lib/dpkg/status ] || fail "--apt needs Debian, or a system made from it: this host has no /var/lib/dpkg/status"
	local words package version file hash right
	mkdir -p /tmp/apt/parts $cache/apt/lists/partial $cache/apt/archives/partial
	apt_configure
	if [ -e $in/apt.lock ]; then
		mapfile -t words < <(cut -d' ' -f1 $in/apt.lock)
	else
		mapfile -t words <$in/apt
	fi
	say "apt: reading the lists of packages"
	apt-get update
	apt_plan "${words[@]}" >/tmp/apt/plan
	if ! [ -s /tmp/apt/plan ]; then
		say "apt: the host has all of this"
		return
	fi
	say "apt: installing $(cut -d' ' -f1 /tmp/apt/plan | paste -sd' ')"
	apt-get install --yes --download-only --allow-downgrades -- "${words[@]}" >/dev/null
	while read -r package version file; do
		hash=$(sha256sum <"$cache/apt/archives/$file")
		hash=${hash%% *}
		# apt does not look into a file that the cache has already
		right=$(apt-cache show "$package=$version" | sed -n 's/^SHA256: //p')
		[[ $right == *"$hash"* ]] || fail "apt: $file is not what its repository says: its SHA-256 is $hash"
		if [ -e $in/apt.lock ] && ! grep -qxF "$package=$version $hash" $in/apt.lock; then
			fail "apt: $package $version is not what was locked"
		fi
		printf '%s=%s %s\n' "$package" "$version" "$hash" >>$out/apt.lock
		printf 'apt\t%s\t%s\tsha256:%s\n' "$package" "$version" "$hash" >>$out/packages
		dpkg-deb --fsys-tarfile "$cache/apt/archives/$file" |
			tar --extract --file - --directory $layer --keep-directory-symlink --no-same-owner
	done </tmp/apt/plan
}

# Root's boxes write as another id, which needs an id-mapped mount
[ -w $layer ] || fail "a box cannot write to the state directory: its file system has no id-mapped mounts, as an overlay; set XDG_STATE_HOME, or be an ordinary user"
# Where the host's /bin is a link to usr/bin, files of packages in /bin belong there, too.
for place in bin sbin lib lib32 lib64 libx32; do
	if [ -L /$place ]; then
		mkdir -p "$layer/$(readlink /$place)"
		ln -sfn "$(readlink /$place)" $layer/$place
	fi
done
: >$out/packages
if is_wanted apt; then apt_install; fi
if is_wanted pip; then pip_install; fi
if is_wanted npm; then npm_install; fi
for place in bin sbin lib lib32 lib64 libx32; do
	if [ -L $layer/$place ]; then rm $layer/$place; fi
done
find $layer/usr -type d -empty -delete 2>/dev/null || :
