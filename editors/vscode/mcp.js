// weft as an MCP server of VS Code itself: installing the extension is all a user does.
'use strict';
const vscode = require('vscode');
const fs = require('fs');
const path = require('path');

function announceMcp(log) {
  if (!vscode.lm?.registerMcpServerDefinitionProvider) {
    log.info('this VS Code is too old to be told of MCP servers by extensions');
    return { dispose() {} };
  }
  return vscode.lm.registerMcpServerDefinitionProvider('clawft.weft', {
    provideMcpServerDefinitions() {
      const [command, ...words] = program();
      const folder = vscode.workspace.workspaceFolders?.find(each => each.uri.scheme === 'file');
      const server = new vscode.McpStdioServerDefinition('weft', command, [...words, 'mcp-server']);
      if (folder) server.cwd = folder.uri;
      return [server];
    },
    async resolveMcpServerDefinition(server) {
      if (onPath(server.command)) return server;
      const choice = await vscode.window.showErrorMessage('weft is not installed: run `pip install clawft`, or `uv tool install clawft`.', 'Open settings');
      if (choice) vscode.commands.executeCommand('workbench.action.openSettings', 'clawft.command');
      return undefined;
    },
  });
}

function program() {
  const told = vscode.workspace.getConfiguration('clawft').get('command');
  if (told) return [told];
  if (!onPath('weft') && onPath('uvx')) return ['uvx', '--from', 'clawft', 'weft'];
  return ['weft'];
}

function onPath(name) {
  const places = path.isAbsolute(name) ? [''] : (process.env.PATH || '').split(path.delimiter);
  const endings = process.platform === 'win32' ? ['.exe', '.cmd', ''] : [''];
  return places.some(place => endings.some(ending => { try { fs.accessSync(path.join(place, name + ending), fs.constants.X_OK); return true; } catch { return false; } }));
}

module.exports = { announceMcp };
