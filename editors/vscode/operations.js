// What a window can do for an agent. Paths come checked and are checked again; nothing is clamped, nothing guessed.
'use strict';
const vscode = require('vscode');
const crypto = require('crypto');
const fs = require('fs');

const WINDOW_MS = 4000; // a window that takes longer for the smallest command does not answer; a busy one may take a second
const QUIET_MS = 300; // diagnostics have settled when nothing came for so long
const SILENT_MS = 1500; // the same for a text about which nothing came at all
const RELOAD_MS = 3000;
const MAX_ACTIONS = 50;
const KINDS = ('file module namespace package class method property field constructor enum interface function variable ' +
  'constant string number boolean array object key null enum_member struct event operator type_parameter').split(' ');

class Refusal extends Error { constructor(code, message) { super(message); this.code = code; } }

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));
const position = at => ({ line: at.line, character: at.character });
const range = place => ({ start: position(place.start), end: position(place.end) });
const toRange = place => new vscode.Range(place.start.line, place.start.character, place.end.line, place.end.character);
const edits = many => many.filter(edit => edit.range).map(edit => ({ range: range(edit.range), new_text: edit.newText }));

class Operations {
  constructor(reviews, log) {
    this.reviews = reviews;
    this.log = log;
    this.running = new Map(); // id → cancel
    this.judged = new Map(); // uri → when diagnostics last changed
    this.changed = 0; // when any text last changed
    this.beats = 0;
    this.subscriptions = [];
  }

  watch(happened) {
    this.subscriptions.push(
      vscode.languages.onDidChangeDiagnostics(change => { for (const uri of change.uris) this.judged.set(uri.toString(), Date.now()); }),
      vscode.workspace.onDidChangeTextDocument(change => {
        if (change.document.uri.scheme !== 'file' || !change.contentChanges.length) return;
        this.changed = Date.now();
        happened('editors');
      }),
      vscode.workspace.onDidCloseTextDocument(document => this.judged.delete(document.uri.toString())),
    );
  }

  dispose() { for (const each of this.subscriptions) each.dispose(); }

  about() {
    return {
      folders: (vscode.workspace.workspaceFolders || []).filter(each => each.uri.scheme === 'file').map(each => each.uri.fsPath),
      trusted: vscode.workspace.isTrusted, focused: vscode.window.state.focused,
    };
  }

  dirty() { return vscode.workspace.textDocuments.filter(each => each.isDirty && each.uri.scheme === 'file').map(each => each.uri.fsPath).slice(0, 1000); }

  // The process of extensions may outlive its window by hours, and then says that there are no problems. A command that
  // is carried out in the window itself tells the difference.
  async windowAnswers(ms = WINDOW_MS) {
    const asked = vscode.commands.executeCommand('setContext', 'clawft.beat', ++this.beats).then(() => true, () => false);
    return Promise.race([asked, sleep(ms).then(() => false)]);
  }

  // One operation, always with an answer: {result} or {error: {code, message}}.
  async run(id, method, params, deadlineMs) {
    const started = Date.now();
    let timer, cancelled;
    const ended = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Refusal('failed', `no answer within ${deadlineMs} ms`)), deadlineMs);
      this.running.set(id, () => { cancelled?.(); reject(new Refusal('failed', 'cancelled')); });
    });
    try {
      if (!Object.hasOwn(OPERATIONS, method)) throw new Refusal('failed', `unknown operation ${method}`);
      if (!await this.windowAnswers(Math.min(WINDOW_MS, deadlineMs * 0.8))) throw new Refusal('not_ready', 'the window does not answer');
      if (params.path != null) this.checkPlace(params.path);
      const work = OPERATIONS[method](this, params, cancel => { cancelled = cancel; });
      work.catch(() => {}); // may fail after the deadline, when nobody listens
      const result = await Promise.race([work, ended]);
      this.log.debug(`${method} ${Date.now() - started} ms`);
      return { result: result ?? null };
    } catch (problem) {
      this.log.debug(`${method}: ${problem.message}`);
      return { error: { code: codeOf(problem), message: problem.message } };
    } finally {
      clearTimeout(timer);
      this.running.delete(id);
    }
  }

  cancel(id) { this.running.get(id)?.(); }

  checkPlace(path) {
    if (!vscode.workspace.getWorkspaceFolder(vscode.Uri.file(path))) throw new Refusal('outside_workspace', `${path} is in no folder of this window`);
  }

  checkTrust() { if (!vscode.workspace.isTrusted) throw new Refusal('untrusted', 'this workspace is not trusted, so nothing may be changed in it'); }

  // The text, read again if the disk has a newer one and nobody has changed this one here.
  async document(path) {
    let document;
    try { document = await vscode.workspace.openTextDocument(vscode.Uri.file(path)); }
    catch (problem) { throw new Refusal(fs.existsSync(path) ? 'failed' : 'not_found', fs.existsSync(path) ? problem.message : path); }
    for (const until = Date.now() + RELOAD_MS; !document.isDirty && Date.now() < until; await sleep(50)) {
      const there = await fs.promises.readFile(path, 'utf8').catch(() => document.getText());
      if (plain(there) === plain(document.getText())) break; // the window reads it again by itself, soon
    }
    return document;
  }

  state(document) { return { path: document.uri.fsPath, version: document.version, dirty: document.isDirty }; }

  // A place that is there: not past the end, not inside a letter of two units.
  place(document, told) {
    const place = toRange(told);
    if (told.end.line < told.start.line || (told.end.line === told.start.line && told.end.character < told.start.character)) {
      throw new Refusal('bad_range', 'the range ends before it starts');
    }
    if (!document.validateRange(place).isEqual(place)) throw new Refusal('bad_range', 'the range is not in the text: lines and characters count from 0');
    for (const at of [place.start, place.end]) {
      const line = document.lineAt(at.line).text;
      if (/[\uD800-\uDBFF]/.test(line[at.character - 1] || '') && /[\uDC00-\uDFFF]/.test(line[at.character] || '')) {
        throw new Refusal('bad_range', `character ${at.character} of line ${at.line} is inside of a letter`);
      }
    }
    return place;
  }

  async at({ path, position: told }) {
    const document = await this.document(path);
    return [document.uri, this.place(document, { start: told, end: told }).start];
  }

  diagnosticsOf(uri, found) {
    return found.map(each => ({
      range: range(each.range), severity: each.severity + 1, message: each.message, source: each.source ?? null,
      code: each.code == null ? null : String(each.code.value ?? each.code), file_path: uri.fsPath,
    }));
  }

  // VS Code does not say which version diagnostics are for. They count as fresh when they came after the last change of
  // any text and nothing followed; or when nothing came for long although the language has answered in the meantime.
  async settle(document, ms) {
    const until = Date.now() + ms;
    let answered;
    for (;;) {
      const judged = this.judged.get(document.uri.toString()) || 0;
      if (judged > this.changed && Date.now() - judged >= QUIET_MS) return true;
      const asked = this.changed;
      answered ??= vscode.commands.executeCommand('vscode.executeDefinitionProvider', document.uri, new vscode.Position(0, 0))
        .then(() => [asked, Date.now()], () => [asked, Infinity]);
      const [about, when] = await Promise.race([answered, sleep(50).then(() => [0, Infinity])]);
      if (about === this.changed && when !== Infinity) {
        if (Date.now() - Math.max(judged, when) >= SILENT_MS) return true;
      } else if (when !== Infinity) answered = undefined;
      if (Date.now() >= until) return false;
      await sleep(50);
    }
  }
}

const codeOf = problem => (problem instanceof Refusal ? problem.code : 'failed');
const plain = text => text.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
const command = (name, ...words) => vscode.commands.executeCommand(name, ...words);

const OPERATIONS = {
  async ping() { return { ok: true }; },

  async open_file(ide, { path, position: at }) {
    const document = await ide.document(path);
    const selection = at ? ide.place(document, { start: at, end: at }) : undefined;
    await vscode.window.showTextDocument(document, { preview: false, selection });
    return ide.state(document);
  },

  async read(ide, { path }) {
    const document = await ide.document(path);
    return { ...ide.state(document), text: document.getText() };
  },

  // All changes of a call in one WorkspaceEdit: the window makes all of them or none.
  async apply_edit(ide, { changes, save }) {
    ide.checkTrust();
    const whole = new vscode.WorkspaceEdit();
    const documents = [];
    for (const change of changes) {
      ide.checkPlace(change.path);
      const document = await ide.document(change.path);
      if (change.version != null && change.version !== document.version) throw new Refusal('stale', `the text has version ${document.version}`);
      change.edits.forEach((edit, index) => {
        const place = ide.place(document, edit.range);
        const expected = change.expected?.[index];
        if (expected != null && plain(document.getText(place)) !== plain(expected)) throw new Refusal('stale', 'the range holds another text than was expected');
        whole.replace(document.uri, place, edit.new_text);
      });
      documents.push(document);
    }
    for (const document of documents) {
      const places = whole.get(document.uri).map(edit => edit.range).sort((a, b) => a.start.compareTo(b.start) || a.end.compareTo(b.end));
      for (let i = 1; i < places.length; i++) if (places[i].start.isBefore(places[i - 1].end)) throw new Refusal('bad_range', 'two of the edits overlap');
    }
    if (!await vscode.workspace.applyEdit(whole)) throw new Refusal('failed', 'the window did not take the change');
    if (save) for (const document of documents) if (!await document.save()) throw new Refusal('failed', `${document.uri.fsPath} could not be saved`);
    return documents.map(document => ide.state(document));
  },

  async save(ide, { path }) {
    ide.checkTrust();
    const document = await ide.document(path);
    if (document.isDirty && !await document.save()) throw new Refusal('failed', `${path} could not be saved`);
    return ide.state(document);
  },

  async diagnostics(ide, { path, wait_ms: ms }) {
    if (path == null) {
      const items = vscode.languages.getDiagnostics().filter(([uri]) => uri.scheme === 'file' && vscode.workspace.getWorkspaceFolder(uri))
        .flatMap(([uri, found]) => ide.diagnosticsOf(uri, found));
      const latest = Math.max(ide.changed, ...ide.judged.values());
      return { items, fresh: Date.now() - latest >= QUIET_MS, pending: Date.now() - latest < QUIET_MS };
    }
    const document = await ide.document(path);
    const fresh = await ide.settle(document, ms || 0);
    if (!await ide.windowAnswers()) throw new Refusal('not_ready', 'the window does not answer');
    return { items: ide.diagnosticsOf(document.uri, vscode.languages.getDiagnostics(document.uri)), fresh, pending: !fresh, version: document.version, dirty: document.isDirty };
  },

  async symbols(ide, { query, limit }) {
    const found = await command('vscode.executeWorkspaceSymbolProvider', query) || [];
    return found.filter(each => each.location.uri.scheme === 'file').slice(0, limit).map(each => ({
      name: each.name.replace(/\(\)$/, ''), kind: KINDS[each.kind] || 'unknown', file_path: each.location.uri.fsPath,
      range: range(each.location.range), container: each.containerName || null,
    }));
  },

  async hover(ide, params) {
    const [uri, at] = await ide.at(params);
    const found = await command('vscode.executeHoverProvider', uri, at) || [];
    const contents = found.flatMap(each => each.contents.map(part => (typeof part === 'string' ? part : part.value))).filter(Boolean).join('\n\n');
    const place = found.find(each => each.range)?.range;
    return contents ? { contents, range: place ? range(place) : null } : null;
  },

  async definition(ide, params) {
    const [uri, at] = await ide.at(params);
    return locations(await command('vscode.executeDefinitionProvider', uri, at));
  },

  async references(ide, params) {
    const [uri, at] = await ide.at(params);
    return locations(await command('vscode.executeReferenceProvider', uri, at));
  },

  async document_symbols(ide, { path }) {
    const document = await ide.document(path);
    const flat = (many, container) => many.flatMap(each => [{
      name: each.name.replace(/\(\)$/, ''), kind: KINDS[each.kind] || 'unknown', file_path: path,
      range: range(each.selectionRange || each.location.range), container: container || each.containerName || null,
    }, ...flat(each.children || [], each.name)]);
    return flat(await command('vscode.executeDocumentSymbolProvider', document.uri) || []);
  },

  async rename(ide, params) {
    const [uri, at] = await ide.at(params);
    const found = await command('vscode.executeDocumentRenameProvider', uri, at, params.new_name).then(each => each, problem => {
      if (/no result|cannot rename|can't be renamed|not rename/i.test(problem.message)) return undefined;
      throw problem;
    });
    return found ? found.entries().map(([file, many]) => ({ path: file.fsPath, edits: edits(many) })) : [];
  },

  async code_actions(ide, { path, range: told }) {
    const document = await ide.document(path);
    const found = await command('vscode.executeCodeActionProvider', document.uri, ide.place(document, told), undefined, MAX_ACTIONS) || [];
    return found.filter(each => each.edit && !each.disabled).map(each => ({
      id: crypto.createHash('sha256').update(`${each.kind?.value || ''}\0${each.title}`).digest('hex').slice(0, 8),
      title: each.title, kind: each.kind?.value || '',
      changes: each.edit.entries().map(([file, many]) => ({ path: file.fsPath, edits: edits(many) })).filter(change => change.edits.length),
    })).filter(each => each.changes.length);
  },

  async format(ide, { path }) {
    const document = await ide.document(path);
    const options = vscode.workspace.getConfiguration('editor', document.uri);
    const found = await command('vscode.executeFormatDocumentProvider', document.uri, { tabSize: options.get('tabSize'), insertSpaces: options.get('insertSpaces') });
    return edits(found || []);
  },

  async selection() {
    const editor = vscode.window.activeTextEditor;
    if (!editor || editor.document.uri.scheme !== 'file') return {};
    return { path: editor.document.uri.fsPath, range: range(editor.selection), text: editor.document.getText(editor.selection) };
  },

  async open_editors() {
    return vscode.window.tabGroups.all.flatMap(group => group.tabs.map(tab => [group, tab]))
      .filter(([, tab]) => tab.input instanceof vscode.TabInputText && tab.input.uri.scheme === 'file')
      .map(([group, tab]) => ({
        path: tab.input.uri.fsPath, active: group.isActive && tab.isActive, dirty: tab.isDirty,
        language: vscode.workspace.textDocuments.find(each => each.uri.toString() === tab.input.uri.toString())?.languageId || '',
      }));
  },

  async show_diff(ide, { path, new_text }, whenCancelled) {
    ide.checkTrust();
    if (!vscode.workspace.getConfiguration('clawft').get('showDiffs')) throw new Refusal('rejected', 'reviews are switched off in this window (clawft.showDiffs)');
    return ide.reviews.ask(await ide.document(path), new_text, whenCancelled);
  },

  // Announced so that what is open is read again; the window does that by itself, we only wait for it.
  async files_changed(ide, { paths }) {
    const open = vscode.workspace.textDocuments.filter(each => each.uri.scheme === 'file' && !each.isDirty && (!paths || paths.includes(each.uri.fsPath)));
    await Promise.all(open.slice(0, 100).map(each => ide.document(each.uri.fsPath).catch(() => {})));
    return {};
  },
};

function locations(found) {
  return (found || []).map(each => ({ uri: each.uri || each.targetUri, place: each.range || each.targetSelectionRange || each.targetRange }))
    .filter(each => each.uri.scheme === 'file').map(each => ({ file_path: each.uri.fsPath, range: range(each.place) }));
}

module.exports = { Operations };
