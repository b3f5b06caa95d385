// Which gateways there are: each leaves a file in a folder that only the user can read. We watch that folder.
'use strict';
const vscode = require('vscode');
const fs = require('fs');
const os = require('os');
const path = require('path');

const PROTOCOL = 1;
const LOOK_MS = 2000;
const MAX_GATEWAYS = 32;
const MAX_FILE_BYTES = 64 * 1024;
const OTHERS = 0o077;

class Rendezvous {
  constructor(log, found) {
    this.log = log;
    this.found = found;
    this.refused = new Map(); // file → why, to say it once
  }

  get folder() {
    const told = vscode.workspace.getConfiguration('clawft').get('home') || process.env.CLAWFT_HOME;
    return path.join(told ? told.replace(/^~(?=$|\/)/, os.homedir()) : path.join(os.homedir(), '.clawft'), 'ide');
  }

  start() {
    if (!vscode.workspace.getConfiguration('clawft').get('enable')) return this.found(new Map());
    try {
      fs.mkdirSync(this.folder, { recursive: true, mode: 0o700 }); // a gateway opens its endpoint when it sees the folder
      this.watcher = fs.watch(this.folder, () => this.look());
      this.watcher.on('error', () => {});
    } catch (problem) { this.log.warn(`cannot watch ${this.folder}: ${problem.message}`); }
    this.timer = setInterval(() => this.look(), LOOK_MS);
    this.look();
  }

  restart() { this.dispose(); this.start(); }
  dispose() { this.watcher?.close(); clearInterval(this.timer); }

  look() {
    const gateways = new Map();
    let names = [];
    try { if (this.isOurs(this.folder)) names = fs.readdirSync(this.folder).filter(name => /^gateway-.*\.json$/.test(name)); } catch {}
    const newest = names.map(name => path.join(this.folder, name)).map(file => [file, mtime(file)])
      .sort((a, b) => b[1] - a[1]).slice(0, MAX_GATEWAYS);
    for (const [file] of newest) {
      const told = this.read(file);
      if (told) gateways.set(file, told);
    }
    this.found(gateways);
  }

  read(file) {
    try {
      if (!this.isOurs(file)) return undefined;
      if (fs.statSync(file).size > MAX_FILE_BYTES) return this.refuse(file, 'it is too large');
      const told = JSON.parse(fs.readFileSync(file, 'utf8'));
      if (told.protocol !== PROTOCOL) return this.refuse(file, `it speaks protocol ${told.protocol}, we speak ${PROTOCOL}`);
      if (!/^http:\/\/(127\.0\.0\.1|\[::1\]):\d+$/.test(told.url)) return this.refuse(file, `${told.url} is not on loopback`);
      return told;
    } catch (problem) { return this.refuse(file, problem.message); }
  }

  // Whoever could change the file could make us talk to them.
  isOurs(place) {
    const status = fs.lstatSync(place);
    if (status.isSymbolicLink()) return this.refuse(place, 'it is a symlink');
    if (process.getuid && status.uid !== process.getuid()) return this.refuse(place, 'it belongs to somebody else');
    if (process.getuid && status.mode & OTHERS) return this.refuse(place, 'others may read or change it');
    this.refused.delete(place);
    return true;
  }

  refuse(place, why) {
    if (this.refused.get(place) !== why) this.log.warn(`${place} is not used: ${why}`);
    this.refused.set(place, why);
    return undefined;
  }
}

function mtime(file) { try { return fs.statSync(file).mtimeMs; } catch { return 0; } }

module.exports = { Rendezvous };
