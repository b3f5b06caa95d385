// clawft for VS Code: agents behind a weft gateway use this window. Plain JavaScript, no build step, no dependencies.
//
//   rendezvous.js  which gateways there are
//   link.js        one gateway: register, heartbeat, fetch
//   server.js      where gateways call us
//   operations.js  what a window can do
//   review.js      changes a person judges
//   mcp.js         weft as an MCP server of VS Code itself
'use strict';
const vscode = require('vscode');
const crypto = require('crypto');
const { Rendezvous } = require('./rendezvous');
const { Link } = require('./link');
const { Server } = require('./server');
const { Operations } = require('./operations');
const { Reviews } = require('./review');
const { announceMcp } = require('./mcp');

const EVENT_PAUSE_MS = 150;

function activate(context) {
  const log = vscode.window.createOutputChannel('clawft', { log: true });
  const status = vscode.window.createStatusBarItem('clawft.status', vscode.StatusBarAlignment.Right, 0);
  const reviews = new Reviews(log);
  const operations = new Operations(reviews, log);
  const server = new Server(operations, log);
  const links = new Map(); // file of a gateway → Link
  const instanceId = crypto.randomBytes(16).toString('hex');
  status.name = 'clawft';
  status.command = 'clawft.showLog';
  status.show();

  function show() {
    const connected = [...links.values()].filter(link => link.connected);
    const pending = reviews.count;
    status.text = pending ? `$(diff) weft: ${pending} to review` : connected.length ? '$(plug) weft' : '$(debug-disconnect) weft';
    status.command = pending ? 'clawft.reviewPending' : 'clawft.showLog';
    status.tooltip = connected.length
      ? `Connected to ${connected.length} gateway(s):\n${connected.map(link => `${link.url} for ${link.workspace}`).join('\n')}`
      : `No gateway. Start \`weft mcp-server\` or \`weft gateway\`; watching ${rendezvous.folder}`;
  }

  const rendezvous = new Rendezvous(log, gateways => {
    for (const [file, link] of links) if (!gateways.has(file)) { links.delete(file); link.stop(); }
    for (const [file, told] of gateways) {
      if (links.get(file)?.token === told.registrationToken) continue;
      links.get(file)?.stop();
      const link = new Link(told, instanceId, { server, operations, log, changed: show });
      links.set(file, link);
      link.start();
    }
    show();
  });
  reviews.changed = show;

  // What happens in the window is told in one message per 150 ms.
  const events = new Set();
  let timer;
  const happened = what => {
    events.add(what);
    timer ??= setTimeout(() => {
      timer = undefined;
      const told = [...events];
      events.clear();
      for (const link of links.values()) link.beat(told);
    }, EVENT_PAUSE_MS);
  };
  operations.watch(happened);

  context.subscriptions.push(
    log, status, reviews, operations, server, rendezvous,
    { dispose: () => { clearTimeout(timer); for (const link of links.values()) link.stop(); } },
    vscode.window.onDidChangeTextEditorSelection(() => happened('selection')),
    vscode.window.onDidChangeActiveTextEditor(() => { happened('selection'); happened('editors'); }),
    vscode.window.tabGroups.onDidChangeTabs(() => happened('editors')),
    vscode.workspace.onDidSaveTextDocument(() => happened('editors')),
    vscode.languages.onDidChangeDiagnostics(() => happened('diagnostics')),
    vscode.window.onDidChangeWindowState(() => happened('windows')),
    vscode.workspace.onDidChangeWorkspaceFolders(() => happened('windows')),
    vscode.workspace.onDidChangeConfiguration(change => { if (change.affectsConfiguration('clawft')) rendezvous.restart(); }),
    vscode.commands.registerCommand('clawft.connect', () => { rendezvous.look(); for (const link of links.values()) link.now(); }),
    vscode.commands.registerCommand('clawft.showLog', () => log.show()),
    vscode.commands.registerCommand('clawft.reviewPending', () => reviews.pick()),
    vscode.commands.registerCommand('clawft.acceptEdit', uri => reviews.accept(uri)),
    vscode.commands.registerCommand('clawft.rejectEdit', uri => reviews.reject(uri)),
    announceMcp(log),
  );
  log.info(`clawft ${context.extension.packageJSON.version} in ${vscode.env.appName} ${vscode.version}`);
  rendezvous.start();
  show();
}

module.exports = { activate, deactivate() {} };
