// Changes that a person judges: the file on the left, the proposal on the right, where it can still be changed.
// Accept takes what stands on the right; reject, or closing the tab, takes nothing.
'use strict';
const vscode = require('vscode');
const path = require('path');

const SCHEME = 'clawft-proposal';

// The proposals, as files in memory.
class Proposals {
  constructor() {
    this.texts = new Map();
    this.emitter = new vscode.EventEmitter();
    this.onDidChangeFile = this.emitter.event;
  }
  put(uri, text) { this.texts.set(uri.toString(), { data: Buffer.from(text), at: Date.now() }); }
  drop(uri) { this.texts.delete(uri.toString()); }
  find(uri) {
    const found = this.texts.get(uri.toString());
    if (!found) throw vscode.FileSystemError.FileNotFound(uri);
    return found;
  }
  watch() { return { dispose() {} }; }
  stat(uri) {
    const found = this.find(uri);
    return { type: vscode.FileType.File, ctime: found.at, mtime: found.at, size: found.data.length };
  }
  readFile(uri) { return this.find(uri).data; }
  writeFile(uri, data) {
    Object.assign(this.find(uri), { data: Buffer.from(data), at: Date.now() });
    this.emitter.fire([{ type: vscode.FileChangeType.Changed, uri }]);
  }
  readDirectory() { return []; }
  createDirectory() { throw vscode.FileSystemError.NoPermissions('proposals are files'); }
  delete(uri) { this.drop(uri); }
  rename() { throw vscode.FileSystemError.NoPermissions('proposals keep their name'); }
}

class Reviews {
  constructor(log) {
    this.log = log;
    this.pending = new Map(); // uri of the proposal → { path, text, finish }
    this.proposals = new Proposals();
    this.last = 0;
    this.changed = () => {};
    this.subscriptions = [
      vscode.workspace.registerFileSystemProvider(SCHEME, this.proposals, { isCaseSensitive: true }),
      vscode.window.tabGroups.onDidChangeTabs(change => { for (const tab of change.closed) this.closed(tab); }),
    ];
  }

  get count() { return this.pending.size; }
  dispose() { for (const each of this.subscriptions) each.dispose(); for (const each of this.pending.values()) each.finish({ outcome: 'reject' }); }

  ask(document, text, whenCancelled) {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${++this.last}/${path.basename(document.uri.fsPath)}` });
    const ends = document.eol === vscode.EndOfLine.CRLF ? '\r\n' : '\n';
    this.proposals.put(uri, text);
    return new Promise((resolve, reject) => {
      const finish = verdict => {
        if (!this.pending.delete(uri.toString())) return;
        resolve(verdict);
        this.log.info(`${document.uri.fsPath}: ${verdict.outcome}`);
        this.changed();
        this.close(uri).finally(() => this.proposals.drop(uri));
      };
      this.pending.set(uri.toString(), { uri, path: document.uri.fsPath, text, ends, finish });
      whenCancelled(() => finish({ outcome: 'reject' }));
      this.changed();
      this.show(document.uri, uri).catch(problem => { this.pending.delete(uri.toString()); reject(problem); });
    });
  }

  async show(file, uri) {
    const name = path.basename(file.fsPath);
    await vscode.commands.executeCommand('vscode.diff', file, uri, `${name}: proposed change`, { preview: false });
    vscode.window.showInformationMessage(`An agent proposes a change to ${name}.`, 'Accept', 'Reject').then(choice => {
      if (choice === 'Accept') this.accept(uri);
      if (choice === 'Reject') this.reject(uri);
    });
  }

  find(uri) {
    if (uri && this.pending.has(uri.toString())) return this.pending.get(uri.toString());
    const shown = vscode.window.tabGroups.activeTabGroup.activeTab?.input?.modified;
    return this.pending.get(shown?.toString()) || (this.pending.size === 1 ? [...this.pending.values()][0] : undefined);
  }

  async accept(uri) {
    const review = this.find(uri);
    if (!review) return;
    const document = vscode.workspace.textDocuments.find(each => each.uri.toString() === review.uri.toString());
    const text = document ? document.getText() : review.text;
    if (document?.isDirty) await document.save(); // else closing it would ask
    review.finish(plain(text) === plain(review.text) ? { outcome: 'accept' } : { outcome: 'part', text });
  }

  async reject(uri) {
    const review = this.find(uri);
    if (!review) return;
    const document = vscode.workspace.textDocuments.find(each => each.uri.toString() === review.uri.toString());
    if (document?.isDirty) await document.save();
    review.finish({ outcome: 'reject' });
  }

  closed(tab) {
    const review = this.pending.get(tab.input?.modified?.toString());
    if (review) review.finish({ outcome: 'reject' });
  }

  async close(uri) {
    const tabs = vscode.window.tabGroups.all.flatMap(group => group.tabs).filter(tab => tab.input?.modified?.toString() === uri.toString());
    if (tabs.length) await vscode.window.tabGroups.close(tabs).then(() => {}, () => {});
  }

  async pick() {
    const all = [...this.pending.values()];
    const chosen = all.length < 2 ? all[0] : (await vscode.window.showQuickPick(
      all.map(each => ({ label: path.basename(each.path), description: each.path, each })), { title: 'Pending edits' }))?.each;
    if (chosen) await this.show(vscode.Uri.file(chosen.path), chosen.uri);
    else vscode.window.showInformationMessage('No agent waits for a review.');
  }
}

const plain = text => text.replace(/\r\n?/g, '\n');

module.exports = { Reviews };
