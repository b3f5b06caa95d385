"""Paths below a home folder that hold secrets, and which of them are credentials: one table for all. Pure.

The sandbox hides all of them unless the person opens one; command lines may not read the credentials.
"""

OWN = (".clawft",)
"""Our own home folder holds tokens, even while CLAWFT_HOME names another one."""
KEYS = (
    ".ssh .aws .gnupg .azure .kube .docker .password-store .vault-token .terraform.d .terraformrc .netrc .authinfo "
    ".authinfo.gpg .git-credentials .pypirc .pgpass .my.cnf .s3cfg .boto .databrickscfg .snowflake .kaggle .fly "
    ".oci .ibmcloud .aliyun .pulumi .argocd .cloudflared .ngrok2 .tsh .step .sentryclirc .putty .vnc .msmtprc "
    ".subversion/auth .gem/credentials .cargo/credentials.toml .cargo/credentials .composer/auth.json .huggingface "
    ".streamlit/secrets.toml .cache/huggingface/token .local/share/uv/credentials .local/share/com.vercel.cli "
    ".local/share/jupyter/runtime .config/gcloud .config/gh .config/hub .config/glab-cli .config/doctl "
    ".config/hcloud .config/scw .config/openstack .config/heroku .config/stripe .config/netlify .config/.wrangler "
    ".config/argocd .config/ngrok .config/pulumi .config/rclone .config/filezilla .config/syncthing .config/sops "
    ".config/age .config/containers .config/composer/auth.json .config/git/credentials .pki .Xauthority "
    ".ICEauthority"
).split()
KEYRINGS = (
    ".1password .gnome2/keyrings .local/share/keyrings .local/share/kwalletd .local/share/password-store "
    ".local/share/gopass .config/op .config/1Password .config/Bitwarden .config/gopass .config/keepassxc .electrum "
    ".bitcoin .litecoin .dogecoin .ethereum .bitmonero .config/solana .config/Exodus .config/atomic "
    ".foundry/keystores"
).split()
"""Keyrings, password managers and wallets."""
AGENT_LOGINS = (
    ".claude/.credentials.json .codex/auth.json .gemini/oauth_creds.json .qwen/oauth_creds.json "
    ".mcp-auth .config/github-copilot"
).split()
"""Logins of other agents."""
AGENTS = (
    ".claude/settings.json .claude/history.jsonl .claude/projects .claude.json "
    ".config/Claude .cursor/mcp.json .cursor/chats .codex/config.toml .codex/history.jsonl "
    ".codex/sessions .gemini/settings.json .gemini/tmp "
    ".qwen/settings.json .kiro/settings .codeium .continue .copilot "
    ".config/opencode .local/share/opencode .config/goose .local/share/goose .config/zed .config/amp "
    ".config/io.datasette.llm .config/Code/User .config/Cursor/User .config/VSCodium/User .config/Windsurf/User "
    ".aider.chat.history.md .aider.input.history"
).split()
"""Other agents and editors: their configurations name tokens of servers, their histories are conversations."""
BROWSERS = (
    ".mozilla .librewolf .waterfox .zen .floorp .thunderbird .cache/mozilla .cache/google-chrome .cache/chromium "
    ".config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge .config/vivaldi "
    ".config/opera .config/librewolf .config/zen .config/Signal .config/Slack .config/discord .config/Element "
    ".config/teams .config/evolution .local/share/evolution .local/share/TelegramDesktop .var/app snap"
).split()
"""Browsers, mail, messengers."""
HISTORIES = (
    ".bash_history .zsh_history .zhistory .histfile .sh_history .ash_history .local/share/fish/fish_history "
    ".local/share/zsh/history .local/state/zsh/history .local/state/bash/history .config/zsh/.zsh_history "
    ".config/nushell/history.txt .python_history .ipython/profile_default/history.sqlite .node_repl_history "
    ".psql_history .mysql_history .sqlite_history .rediscli_history .mongosh .dbshell .irb_history .lesshst "
    ".viminfo"
).split()
DAEMON_SOCKETS = ".colima .lima .rd .orbstack .minikube .podman".split()
"""Through the sockets in these folders anything can be started outside of the sandbox."""

SYSTEM_SECRETS = tuple(
    f"/etc/{name}"
    for name in (
        "shadow shadow- gshadow gshadow- security/opasswd krb5.keytab ssl/private letsencrypt wireguard kubernetes "
        "ssh/ssh_host_rsa_key ssh/ssh_host_ecdsa_key ssh/ssh_host_ed25519_key NetworkManager/system-connections"
    ).split()
)
"""Of the whole machine: only root may read them."""

SECRETS = (
    *OWN,
    *KEYS,
    *KEYRINGS,
    *AGENT_LOGINS,
    *AGENTS,
    *BROWSERS,
    *HISTORIES,
    *DAEMON_SOCKETS,
)
"""The places that the sandbox hides from a server unless the settings of that server name it."""

CREDENTIALS = frozenset((*OWN, *KEYS, *KEYRINGS, *AGENT_LOGINS))
"""The secrets that are keys and tokens, and little else."""
HARMLESS = frozenset(
    (
        ".ssh/config .ssh/known_hosts .ssh/known_hosts.old .ssh/authorized_keys .ssh/authorized_keys2 .ssh/rc "
        ".aws/config .azure/config .gnupg/gpg.conf .gnupg/gpg-agent.conf .gnupg/pubring.kbx .kube/cache "
        ".docker/daemon.json .docker/cli-plugins .docker/buildx .terraform.d/plugins .terraform.d/plugin-cache "
        ".config/gh/config.yml .config/containers/registries.conf .config/containers/containers.conf "
        ".config/containers/policy.json .config/containers/storage.conf .config/containers/systemd "
        ".clawft/config.toml .clawft/mcp_servers .clawft/agents .clawft/approvals.json .clawft/audit .clawft/cache "
        ".clawft/sandbox"
    ).split()
)
"""Files among the credentials that hold no key, and that commands read every day."""
SECRET_ANYWHERE = (
    ".ssh .ssh/id_* .ssh/identity .aws/credentials .netrc .git-credentials .pypirc .pgpass .vault-token .kube/config "
    ".docker/config.json .config/gcloud/*credential* .config/gh/hosts.yml .gnupg .gnupg/private-keys* "
    ".gnupg/private-keys*/* .gnupg/secring.gpg .clawft/*token* .clawft/tokens/* .clawft/state.key"
).split()
"""Globs of files that are secret in any folder. Other names are not: a project may have a `.docker`."""
