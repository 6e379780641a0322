"""Variables of a git configuration that are known to be inert: git and other tools take them as data.

None makes a program run, another file be written or more configuration be read. What is not here counts as one that
does, so that a variable of a newer git or of a tool that nobody thought of is noticed. Names are in lower case, and a
subsection does not matter. Addresses (`remote.*.url`) are data: they say where data goes. Proxies and certificates are
not: with them, a password for one host goes to another one. Nor is `commit.template`, a file of which git tells.
"""

from typing import Final

# git-config(1) of git 2.51, the files under Documentation/config: switches, numbers, formats, names of branches and
# revisions, and files that git only reads as text (`core.excludesFile`).
_OF_GIT: Final = {
    "add": "ignoreerrors",
    "am": "keepcr messageid threeway",
    "apply": "ignorewhitespace whitespace",
    "author": "email name",
    "blame": "blankboundary coloring date markignoredlines markunblamablelines showemail showroot",
    "branch": "autosetupmerge autosetuprebase description merge pushremote rebase remote sort",
    "checkout": "defaultremote guess thresholdforparallelism workers",
    "clean": "requireforce",
    "clone": "defaultremotename filtersubmodules rejectshallow",
    "commit": "cleanup gpgsign status verbose",
    "commitgraph": "changedpathsversion generationversion maxnewfilters readchangedpaths",
    "committer": "email name",
    "core": (
        "abbrev alternaterefsprefixes autocrlf bare bigfilethreshold checkroundtripencoding checkstat "
        "commentchar commentstring commitgraph compression createobject deltabasecachelimit eol excludesfile filemode "
        "filesreflocktimeout fsmonitorhookversion fsync fsyncmethod fsyncobjectfiles hidedotfiles ignorecase "
        "ignorestat logallrefupdates loosecompression maxtreedepth multipackindex notesref packedgitlimit "
        "packedgitwindowsize "
        "packedrefstimeout precomposeunicode prefersymlinkrefs preloadindex protecthfs protectntfs quotepath "
        "repositoryformatversion restrictinheritedhandles safecrlf sharedrepository sparsecheckout sparsecheckoutcone "
        "splitindex symlinks trustctime untrackedcache usereplacerefs warnambiguousrefs whitespace worktree"
    ),
    "credential": "interactive protectprotocol sanitizeprompt usehttppath username",
    "credentialcache": "ignoresighup",
    "credentialstore": "locktimeoutms",
    "diff": (
        "algorithm autorefreshindex binary cachetextconv colormoved colormovedws context dirstat ignoresubmodules "
        "indentheuristic interhunkcontext mnemonicprefix noprefix orderfile relative renamelimit renames "
        "statgraphwidth statnamewidth submodule suppressblankempty trustexitcode wordregex wserrorhighlight xfuncname"
    ),
    "difftool": "prompt trustexitcode",
    "extensions": (
        "compatobjectformat noop objectformat partialclone preciousobjects refstorage relativeworktrees worktreeconfig"
    ),
    "fastimport": "unpacklimit",
    "feature": "experimental manyfiles",
    "fetch": (
        "fsckobjects negotiationalgorithm output parallel prune prunetags recursesubmodules showforcedupdates "
        "unpacklimit writecommitgraph"
    ),
    "filter": "required",
    "format": "coverletter from mboxrd noprefix notes numbered pretty signoff subjectprefix thread useautobase",
    "fsmonitor": "allowremote",
    "gc": (
        "aggressivedepth aggressivewindow auto autodetach autopacklimit bigpackthreshold cruftpacks logexpiry "
        "maxcruftsize packrefs pruneexpire reflogexpire reflogexpireunreachable rerereresolved rerereunresolved "
        "worktreepruneexpire writecommitgraph"
    ),
    "gpg": "format mintrustlevel",
    "grep": "column extendedregexp fallbacktonoindex fullname linenumber patterntype threads",
    "gui": "commitmsgwidth diffcontext displayuntracked encoding geometry matchtrackingbranch trustmtime wmstate",
    "http": (
        "emptyauth extraheader followredirects keepalivecount keepaliveidle keepaliveinterval lowspeedlimit "
        "lowspeedtime maxrequests minsessions noepsv postbuffer proactiveauth savecookies useragent version"
    ),
    "i18n": "commitencoding logoutputencoding",
    "index": "recordendofindexentries recordoffsettable skiphash sparse threads version",
    "init": "defaultbranch defaultobjectformat defaultrefformat",
    "interactive": "singlekey",
    "log": (
        "abbrevcommit date decorate diffmerges excludedecoration follow graphcolors initialdecorationset mailmap "
        "showroot showsignature"
    ),
    "lsrefs": "unborn",
    "mailinfo": "scissors",
    "mailmap": "blob file",
    "maintenance": "auto autodetach enabled schedule strategy",
    "merge": (
        "autostash branchdesc conflictstyle defaulttoupstream directoryrenames ff guitool log name recursive "
        "renamelimit renames renormalize stat suppressdest tool verbosity verifysignatures"
    ),
    "mergetool": "hideresolved keepbackup keeptemporaries prompt trustexitcode writetotemp",
    "notes": "displayref mergestrategy rewritemode rewriteref",
    "pack": (
        "allowpackreuse compression deltacachelimit deltacachesize depth indexversion island islandcore packsizelimit "
        "preferbitmaptips readreverseindex threads usebitmapboundarytraversal usebitmaps usepathwalk usesparse window "
        "windowmemory writebitmaphashcache writebitmaplookuptable writereverseindex"
    ),
    "protocol": "version",
    "pull": "ff rebase",
    "push": (
        "autosetupremote default followtags gpgsign negotiate pushoption recursesubmodules usebitmaps "
        "useforceifincludes"
    ),
    "rebase": (
        "abbreviatecommands autosquash autostash backend forkpoint maxlabellength missingcommitscheck rebasemerges "
        "reschedulefailedexec stat updaterefs"
    ),
    "receive": (
        "autogc denycurrentbranch denydeletecurrent denydeletes denynonfastforwards fsckobjects keepalive maxinputsize "
        "shallowupdate unpacklimit"
    ),
    "remote": (
        "fetch followremotehead mirror partialclonefilter promisor prune prunetags push "
        "pushdefault pushurl serveroption skipdefaultupdate skipfetchall tagopt url"
    ),
    "repack": "packkeptobjects updateserverinfo usedeltabaseoffset usedeltaislands writebitmaps",
    "rerere": "autoupdate enabled",
    "revert": "reference",
    "safe": "barerepository directory",
    "showbranch": "default",
    "sparse": "expectfilesoutsideofpatterns",
    "splitindex": "maxpercentchange sharedindexexpire",
    "ssh": "variant",
    "stash": "showincludeuntracked showpatch showstat",
    "status": (
        "aheadbehind branch displaycommentprefix relativepaths renamelimit renames short showstash showuntrackedfiles "
        "submodulesummary"
    ),
    "submodule": (
        "active alternateerrorstrategy alternatelocation branch fetchjobs fetchrecursesubmodules gitdir ignore "
        "propagatebranches recurse shallow url"
    ),
    "tag": "forcesignannotated gpgsign sort",
    "tar": "umask",
    "transfer": "advertisesid bundleuri credentialsinurl fsckobjects hiderefs unpacklimit",
    "uploadpack": "allowanysha1inwant allowfilter allowreachablesha1inwant allowrefinwant allowtipsha1inwant keepalive",
    "user": "email name signingkey useconfigonly",
    "versionsort": "suffix",
    "worktree": "guessremote userelativepaths",
}
# What other tools write into a repository by themselves: git-lfs-config(5), git-annex(1), git-svn(1), git-flow,
# GitHub CLI (cli/cli, git/client.go), VS Code (extensions/git), git-review, git-town and Git Credential Manager.
_OF_OTHERS: Final = {
    "annex": "uuid version",
    "branch": "gh-merge-base github-pr-base-branch github-pr-owner-number vscode-merge-base",
    "credential": "provider",
    "git-town": "main-branch perennial-branches sync-feature-strategy sync-perennial-strategy",
    "git-town-branch": "branchtype parent",
    "gitflow": (
        "bugfix develop feature hotfix initialized main master origin release support versiontag"  # branch.*, prefix.*
    ),
    "gitreview": "remote username",
    "lfs": (
        "access activitytimeout allowincompletepush batch concurrenttransfers contenttype dialtimeout fetchexclude "
        "fetchinclude keepalive locksverify pushurl repositoryformatversion skipdownloaderrors tlstimeout url"
    ),
    "remote": "annex-ignore annex-uuid gh-resolved",
    "svn-remote": "branches fetch ignore-paths ignore-refs include-paths rewriteroot rewriteuuid tags url usesvmprops",
}
# All variables of these are switches, colours, layouts, severities or formats; of `remotes`, names of remotes.
_SECTIONS: Final = frozenset(("advice", "color", "column", "fsck", "pretty", "remotes"))
_INERT: Final = frozenset(
    (section, name) for table in (_OF_GIT, _OF_OTHERS) for section, names in table.items() for name in names.split()
)


def is_inert(section: str, name: str) -> bool:
    """Whether a variable is known to be data, whatever its value and its subsection are.

    Args:
        section: in lower case.
        name: the last part of the variable, in lower case.
    """
    return section in _SECTIONS or (section, name) in _INERT
