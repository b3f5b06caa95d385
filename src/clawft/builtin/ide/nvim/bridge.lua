-- The editor side of clawft in Neovim, sent over its own socket: nothing has to be installed.
-- Works from 0.7 on. Positions come and go as UTF-16, lines and characters from zero.
-- Every operation answers by `rpcnotify(channel, 'clawft', id, answer)`, at once or later; none blocks the editor.
local M = { published = {}, working = {}, asked = {}, reviews = {}, channels = {}, read = {}, changed = 0 }
local api, lsp, uv = vim.api, vim.lsp, vim.uv or vim.loop
local QUIET_MS = 300

local function fail(code, message) error({ clawft = code, message = message }, 0) end
local function now() return uv.hrtime() / 1e6 end
local function null(value) if value == nil then return vim.NIL end return value end

-- ── places ───────────────────────────────────────────────────────────────────────────────────────────────────────

local function units(text) -- its length in UTF-16 units
  local count = 0
  for i = 1, #text do
    local byte = text:byte(i)
    if byte < 0x80 or byte >= 0xC0 then count = count + (byte >= 0xF0 and 2 or 1) end
  end
  return count
end

local function byte_of(text, character, line) -- the byte where a UTF-16 unit starts; nothing is clamped
  local count, i = 0, 1
  while i <= #text and count < character do
    local byte = text:byte(i)
    count = count + (byte >= 0xF0 and 2 or 1)
    i = i + (byte >= 0xF0 and 4 or byte >= 0xE0 and 3 or byte >= 0xC0 and 2 or 1)
  end
  if count ~= character then
    fail('bad_range', ('character %d of line %d is not there, or inside of a letter'):format(character, line))
  end
  return math.min(i - 1, #text)
end

local function line_of(buffer, line)
  local lines = api.nvim_buf_get_lines(buffer, line, line + 1, false)
  if #lines == 0 and line == api.nvim_buf_line_count(buffer) then return '' end -- just behind the last line
  if #lines == 0 then fail('bad_range', ('line %d is not there'):format(line)) end
  return lines[1]
end

local function to_byte(buffer, at) return byte_of(line_of(buffer, at.line), at.character, at.line) end

local function to_position(buffer, line, byte)
  local text = api.nvim_buf_get_lines(buffer, line, line + 1, false)[1] or ''
  return { line = line, character = units(text:sub(1, byte)) }
end

-- ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────

local function on_disk(buffer) -- what the file was last written as
  local file = uv.fs_stat(api.nvim_buf_get_name(buffer))
  return file and ('%d.%d %d'):format(file.mtime.sec, file.mtime.nsec, file.size)
end

local function agrees(buffer) M.read[buffer] = on_disk(buffer) end

-- To write over a file that was changed makes Neovim ask, and it answers nobody until the person has said yes or no.
local function check_not_overtaken(buffer)
  local file = on_disk(buffer)
  if vim.bo[buffer].modified and M.read[buffer] and file and file ~= M.read[buffer] then
    fail('stale', 'the file was changed on the disk, too; whoever sits at Neovim says which text counts: :write! or :edit!')
  end
end

local function buffer_of(path) -- loaded, and read again if the disk has a newer text and nobody has changed this one
  local buffer = vim.fn.bufadd(path)
  if not api.nvim_buf_is_loaded(buffer) then
    vim.fn.bufload(buffer)
    vim.bo[buffer].buflisted = true
    if vim.bo[buffer].filetype == '' then
      local kind = vim.filetype and vim.filetype.match and (pcall(vim.filetype.match, { filename = path, buf = buffer })
        and vim.filetype.match({ filename = path, buf = buffer }))
      if kind then vim.bo[buffer].filetype = kind end
    end
    agrees(buffer)
  elseif not vim.bo[buffer].modified then
    local read = vim.o.autoread
    vim.o.autoread = true
    local tick = api.nvim_buf_get_changedtick(buffer)
    vim.cmd('silent! checktime ' .. buffer)
    vim.o.autoread = read
    if api.nvim_buf_get_changedtick(buffer) ~= tick then M.changed = now() end
    agrees(buffer)
  end
  return buffer
end

local function text_of(buffer)
  local ends = ({ dos = '\r\n', mac = '\r' })[vim.bo[buffer].fileformat] or '\n'
  local text = table.concat(api.nvim_buf_get_lines(buffer, 0, -1, false), ends)
  return vim.bo[buffer].endofline and text .. ends or text
end

local function state(buffer)
  return { path = api.nvim_buf_get_name(buffer), version = api.nvim_buf_get_changedtick(buffer),
    dirty = vim.bo[buffer].modified }
end

local function clients(buffer)
  if lsp.get_clients then return lsp.get_clients({ bufnr = buffer }) end
  local found = {}
  for _, client in pairs(lsp.buf_get_clients(buffer)) do found[#found + 1] = client end
  return found
end

local function supporting(buffer, method)
  local capability = ({ ['textDocument/hover'] = 'hoverProvider', ['textDocument/definition'] = 'definitionProvider',
    ['textDocument/references'] = 'referencesProvider', ['textDocument/rename'] = 'renameProvider',
    ['textDocument/documentSymbol'] = 'documentSymbolProvider', ['workspace/symbol'] = 'workspaceSymbolProvider',
    ['textDocument/codeAction'] = 'codeActionProvider',
    ['textDocument/formatting'] = 'documentFormattingProvider' })[method]
  for _, client in ipairs(clients(buffer)) do
    local can = (client.server_capabilities or client.resolved_capabilities or {})[capability]
    if can then return client end
  end
end

local function when_attached(buffer, method, done) -- a server that still starts gets a moment
  local tries = 0
  local function try()
    local client = supporting(buffer, method)
    if client and client.initialized ~= false then return done(client) end
    tries = tries + 1
    if tries > 40 then
      return done(nil, { clawft = 'not_ready', message = 'no language server in this Neovim answers ' .. method })
    end
    vim.defer_fn(try, 100)
  end
  try()
end

local function request(buffer, method, params, answer)
  when_attached(buffer, method, function(client, problem)
    if not client then return answer(nil, problem) end
    local function handler(err, result)
      if type(err) == 'table' and err.message then
        return answer(nil, { clawft = 'failed', message = err.message })
      end
      answer(null(result))
    end
    if vim.fn.has('nvim-0.11') == 1 then client:request(method, params, handler, buffer)
    else client.request(method, params, handler, buffer) end
  end)
end

local function at(params) -- the parameters of a request about a place
  local buffer = buffer_of(params.path)
  to_byte(buffer, params.position)
  return buffer, { textDocument = { uri = vim.uri_from_bufnr(buffer) }, position = params.position }
end

-- ── diagnostics, with the version they are for ────────────────────────────────────────────────────────────────────

local function listen(method, heed) -- to what language servers say, before Neovim does what it does with it
  local before = lsp.handlers[method]
  lsp.handlers[method] = function(err, result, context, ...)
    if result and context then heed(result, context.client_id) end
    return before(err, result, context, ...)
  end
end

local function working(client, token, does)
  M.working[client] = M.working[client] or {}
  M.working[client][token] = does
end

local function watch_published()
  if M.watching then return end
  M.watching = true
  listen('textDocument/publishDiagnostics', function(said, client)
    local path = vim.uri_to_fname(said.uri)
    M.published[path] = M.published[path] or {}
    M.published[path][client] = { version = said.version, at = now() }
  end)
  listen('window/workDoneProgress/create', function(said, client) working(client, said.token, true) end)
  listen('$/progress', function(said, client)
    if type(said.value) == 'table' and said.value.kind == 'end' then working(client, said.token, nil) end
  end)
  api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI', 'CursorMoved', 'BufEnter', 'BufWritePost', 'BufDelete',
    'DiagnosticChanged' }, { callback = function(event) M.happened(event.event) end })
  api.nvim_create_autocmd({ 'BufReadPost', 'BufWritePost' }, { callback = function(event) agrees(event.buf) end })
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buffer) and not vim.bo[buffer].modified then agrees(buffer) end
  end
end

local EVENTS = { CursorMoved = 'selection', BufEnter = 'editors', BufWritePost = 'editors', BufDelete = 'editors',
  TextChanged = 'editors', TextChangedI = 'editors', DiagnosticChanged = 'diagnostics' }
local waiting = {}
function M.happened(event) -- at most one message of a kind in 150 ms
  if event == 'TextChanged' or event == 'TextChangedI' then M.changed = now() end
  local what = EVENTS[event]
  if not what or waiting[what] then return end
  waiting[what] = true
  vim.defer_fn(function()
    waiting[what] = nil
    for channel in pairs(M.channels) do
      if not pcall(vim.rpcnotify, channel, 'clawft_event', what) then M.channels[channel] = nil end
    end
  end, 150)
end

local function problems_of(buffer)
  local found, path = {}, api.nvim_buf_get_name(buffer)
  for _, each in ipairs(vim.diagnostic.get(buffer)) do
    found[#found + 1] = {
      range = { start = to_position(buffer, each.lnum, each.col),
        ['end'] = to_position(buffer, each.end_lnum or each.lnum, each.end_col or each.col) },
      severity = each.severity, message = each.message, source = each.source,
      code = each.code and tostring(each.code) or nil, file_path = path,
    }
  end
  return found
end

-- Fresh is what was said after the last change of any text, about this very version of this one, by each of those who
-- judge it. One that still works may have given the version to what it knew before.
local function is_fresh(buffer)
  local said, tick, found = M.published[api.nvim_buf_get_name(buffer)] or {}, api.nvim_buf_get_changedtick(buffer), false
  for _, client in ipairs(clients(buffer)) do
    local last = said[client.id]
    if last then
      local is_about_it = last.version and last.version >= tick or not last.version and now() - last.at >= QUIET_MS
      if last.at < M.changed or not is_about_it or next(M.working[client.id] or {}) then return false end
      found = true
    end
  end
  return found
end

-- Have a text judged anew: what comes back then carries its version. A request makes Neovim send what it still holds
-- back; a server that gets the same text twice may not bother, so it gets another one in between.
local function ask_anew(buffer)
  local tick = api.nvim_buf_get_changedtick(buffer)
  local key = tick .. ':' .. M.changed
  if M.asked[buffer] == key then return end
  local uri, text, sent = vim.uri_from_bufnr(buffer), text_of(buffer), false
  for _, client in ipairs(clients(buffer)) do
    if client.initialized ~= false and supporting(buffer, 'textDocument/documentSymbol') then
      local function send(method, params, handler)
        if vim.fn.has('nvim-0.11') == 1 then
          if handler then client:request(method, params, handler, buffer) else client:notify(method, params) end
        elseif handler then client.request(method, params, handler, buffer) else client.notify(method, params) end
      end
      send('textDocument/documentSymbol', { textDocument = { uri = uri } }, function() end)
      for _, each in ipairs({ text .. '\n', text }) do
        send('textDocument/didChange', { textDocument = { uri = uri, version = tick }, contentChanges = { { text = each } } })
      end
      sent = true
    end
  end
  if sent then M.asked[buffer] = key end
end

local ops = {}

function ops.diagnostics(params, answer)
  local wait = now() + (params.wait_ms or 0)
  if not params.path or params.path == vim.NIL then
    local found = {}
    for _, buffer in ipairs(api.nvim_list_bufs()) do
      if api.nvim_buf_is_loaded(buffer) and api.nvim_buf_get_name(buffer) ~= '' then
        vim.list_extend(found, problems_of(buffer))
      end
    end
    return answer({ items = found, fresh = false, pending = false }) -- of the open files only
  end
  local buffer = buffer_of(params.path)
  local function look()
    if not is_fresh(buffer) then
      ask_anew(buffer)
      if now() < wait then return vim.defer_fn(look, 50) end
    end
    local fresh, told, items, judged = is_fresh(buffer), state(buffer), problems_of(buffer), #clients(buffer) > 0
    if not judged and #items == 0 then -- a plugin may tell of problems, too
      return answer(nil, { clawft = 'not_ready', message = 'no language server in this Neovim judges this file' })
    end
    answer({ items = items, fresh = fresh, pending = not fresh and judged, version = told.version, dirty = told.dirty })
  end
  look()
end

-- ── the other operations ───────────────────────────────────────────────────────────────────────────────────────────

function ops.ping(_, answer) answer({ ok = true }) end

function ops.open_file(params, answer)
  vim.cmd('edit ' .. vim.fn.fnameescape(params.path))
  local buffer = api.nvim_get_current_buf()
  if params.position and params.position ~= vim.NIL then
    api.nvim_win_set_cursor(0, { params.position.line + 1, to_byte(buffer, params.position) })
  end
  answer(state(buffer))
end

function ops.read(params, answer)
  local buffer = buffer_of(params.path)
  local told = state(buffer)
  told.text = text_of(buffer)
  answer(told)
end

local function checked(change) -- the edits as bytes, or an error before anything has changed
  local buffer = buffer_of(change.path)
  if change.version and change.version ~= vim.NIL and change.version ~= api.nvim_buf_get_changedtick(buffer) then
    fail('stale', ('the text has version %d'):format(api.nvim_buf_get_changedtick(buffer)))
  end
  local edits = {}
  for index, edit in ipairs(change.edits) do
    local first, last = edit.range.start, edit.range['end']
    local count = api.nvim_buf_line_count(buffer)
    local from, to = { first.line, to_byte(buffer, first) }, { last.line, to_byte(buffer, last) }
    local text = vim.split(edit.new_text:gsub('\r\n', '\n'), '\n', { plain = true })
    local to_the_end = last.line == count -- behind the last line end, which is the end of the last line, here
    if to_the_end then
      if text[#text] == '' and #text > 1 then table.remove(text) end
      to = { count - 1, #line_of(buffer, count - 1) }
      if first.line == count then from = to; table.insert(text, 1, '') end
    end
    if to[1] < from[1] or (to[1] == from[1] and to[2] < from[2]) then fail('bad_range', 'the range ends before it starts') end
    local expected = change.expected and change.expected ~= vim.NIL and change.expected[index]
    if expected and expected ~= vim.NIL then
      local there = table.concat(api.nvim_buf_get_text(buffer, from[1], from[2], to[1], to[2], {}), '\n')
      if to_the_end and first.line < count then there = there .. '\n' end
      if there ~= expected:gsub('\r\n', '\n') then fail('stale', 'the range holds another text than was expected') end
    end
    if to_the_end and edit.new_text == '' and first.character == 0 and first.line > 0 and first.line < count then
      from = { first.line - 1, #line_of(buffer, first.line - 1) } -- whole lines go with the line end before them
    end
    edits[#edits + 1] = { from = from, to = to, text = text, index = index }
  end
  table.sort(edits, function(a, b)
    if a.from[1] ~= b.from[1] then return a.from[1] > b.from[1] end
    if a.from[2] ~= b.from[2] then return a.from[2] > b.from[2] end
    return a.index > b.index
  end)
  for i = 2, #edits do
    local earlier, later = edits[i], edits[i - 1]
    if earlier.to[1] > later.from[1] or (earlier.to[1] == later.from[1] and earlier.to[2] > later.from[2]) then
      fail('bad_range', 'two of the edits overlap')
    end
  end
  return { buffer = buffer, edits = edits }
end

local function write(buffer)
  check_not_overtaken(buffer)
  api.nvim_buf_call(buffer, function() vim.cmd('silent noautocmd write') end)
  agrees(buffer)
end

function ops.apply_edit(params, answer)
  local all = {}
  for _, change in ipairs(params.changes) do all[#all + 1] = checked(change) end
  if params.save then for _, each in ipairs(all) do check_not_overtaken(each.buffer) end end
  local told = {}
  for _, each in ipairs(all) do
    for _, edit in ipairs(each.edits) do
      api.nvim_buf_set_text(each.buffer, edit.from[1], edit.from[2], edit.to[1], edit.to[2], edit.text)
    end
    M.changed = now()
    if params.save then write(each.buffer) end
    told[#told + 1] = state(each.buffer)
  end
  answer(told)
end

function ops.files_changed(_, answer)
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    local path = api.nvim_buf_get_name(buffer)
    if path ~= '' and vim.bo[buffer].buftype == '' and api.nvim_buf_is_loaded(buffer) then buffer_of(path) end
  end
  answer({})
end

function ops.save(params, answer)
  local buffer = buffer_of(params.path)
  if vim.bo[buffer].modified then write(buffer) end
  answer(state(buffer))
end

for name, method in pairs({ hover = 'textDocument/hover', definition = 'textDocument/definition' }) do
  ops[name] = function(params, answer)
    local buffer, asked = at(params)
    request(buffer, method, asked, answer)
  end
end

function ops.references(params, answer)
  local buffer, asked = at(params)
  asked.context = { includeDeclaration = true }
  request(buffer, 'textDocument/references', asked, answer)
end

function ops.rename(params, answer)
  local buffer, asked = at(params)
  asked.newName = params.new_name
  request(buffer, 'textDocument/rename', asked, answer)
end

function ops.document_symbols(params, answer)
  local buffer = buffer_of(params.path)
  request(buffer, 'textDocument/documentSymbol', { textDocument = { uri = vim.uri_from_bufnr(buffer) } }, answer)
end

function ops.symbols(params, answer)
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buffer) and supporting(buffer, 'workspace/symbol') then
      return request(buffer, 'workspace/symbol', { query = params.query }, answer)
    end
  end
  fail('not_ready', 'no language server runs in this Neovim: open a file of the project first')
end

function ops.code_actions(params, answer)
  local buffer = buffer_of(params.path)
  to_byte(buffer, params.range.start)
  local near = {}
  for _, each in ipairs(vim.diagnostic.get(buffer, { lnum = params.range.start.line })) do
    local said = each.user_data and each.user_data.lsp
    near[#near + 1] = { range = { start = to_position(buffer, each.lnum, each.col),
      ['end'] = to_position(buffer, each.end_lnum or each.lnum, each.end_col or each.col) }, message = each.message,
      severity = each.severity, source = each.source, code = said and said.code or each.code }
  end
  request(buffer, 'textDocument/codeAction', { textDocument = { uri = vim.uri_from_bufnr(buffer) },
    range = params.range, context = { diagnostics = near } }, answer)
end

function ops.format(params, answer)
  local buffer = buffer_of(params.path)
  request(buffer, 'textDocument/formatting', { textDocument = { uri = vim.uri_from_bufnr(buffer) },
    options = { tabSize = vim.bo[buffer].tabstop, insertSpaces = vim.bo[buffer].expandtab } }, answer)
end

function ops.selection(_, answer)
  local buffer = api.nvim_get_current_buf()
  local path = api.nvim_buf_get_name(buffer)
  if path == '' then return answer({}) end
  local mode = vim.fn.mode()
  local a, b = vim.fn.getpos('.'), vim.fn.getpos('.')
  local visual = mode == 'v' or mode == 'V'
  if visual then a = vim.fn.getpos('v') end
  if a[2] > b[2] or (a[2] == b[2] and a[3] > b[3]) then a, b = b, a end
  local from, to = { a[2] - 1, a[3] - 1 }, { b[2] - 1, b[3] - 1 }
  if mode == 'V' then from[2], to[2] = 0, #line_of(buffer, to[1])
  elseif visual then
    local text = line_of(buffer, to[1])
    to[2] = math.min(#text, to[2] + #vim.fn.matchstr(text:sub(to[2] + 1), '.'))
  end
  answer({ path = path, range = { start = to_position(buffer, from[1], from[2]), ['end'] = to_position(buffer, to[1], to[2]) },
    text = table.concat(api.nvim_buf_get_text(buffer, from[1], from[2], to[1], to[2], {}), '\n') })
end

function ops.open_editors(_, answer)
  local found, current = {}, api.nvim_get_current_buf()
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    local path = api.nvim_buf_get_name(buffer)
    if path ~= '' and api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buftype == '' then
      found[#found + 1] = { path = path, active = buffer == current, dirty = vim.bo[buffer].modified,
        language = vim.bo[buffer].filetype }
    end
  end
  answer(found)
end

function ops.window(_, answer)
  local version = vim.version()
  answer({ folders = { vim.fn.getcwd() }, version = ('%d.%d.%d'):format(version.major, version.minor, version.patch),
    pid = vim.fn.getpid() })
end

-- ── a proposal to judge: a tab with two windows, :ClawftAccept takes what stands on the right, :ClawftReject nothing ──

function ops.show_diff(params, answer, id)
  local buffer = buffer_of(params.path)
  vim.cmd('tabnew')
  local tab = api.nvim_get_current_tabpage()
  api.nvim_win_set_buf(0, buffer)
  vim.cmd('diffthis')
  vim.cmd('rightbelow vnew')
  local proposal = api.nvim_get_current_buf()
  local lines = vim.split(params.new_text:gsub('\r\n', '\n'), '\n', { plain = true })
  if lines[#lines] == '' then table.remove(lines) end
  api.nvim_buf_set_lines(proposal, 0, -1, false, lines)
  vim.bo[proposal].buftype, vim.bo[proposal].bufhidden, vim.bo[proposal].swapfile = 'nofile', 'wipe', false
  vim.bo[proposal].filetype = vim.bo[buffer].filetype
  vim.cmd('diffthis')
  local function finish(outcome, text)
    if not M.reviews[id] then return end
    M.reviews[id] = nil
    answer({ outcome = outcome, text = text })
    vim.schedule(function()
      if api.nvim_tabpage_is_valid(tab) and #api.nvim_list_tabpages() > 1 then
        vim.cmd('tabclose ' .. api.nvim_tabpage_get_number(tab))
      end
    end)
  end
  M.reviews[id] = finish
  local function accept()
    local now_there = api.nvim_buf_get_lines(proposal, 0, -1, false)
    local text = table.concat(now_there, '\n') .. (params.new_text:sub(-1) == '\n' and '\n' or '')
    if table.concat(now_there, '\n') == table.concat(lines, '\n') then finish('accept') else finish('part', text) end
  end
  if api.nvim_buf_create_user_command then
    api.nvim_buf_create_user_command(proposal, 'ClawftAccept', accept, {})
    api.nvim_buf_create_user_command(proposal, 'ClawftReject', function() finish('reject') end, {})
  end
  api.nvim_create_autocmd('BufWipeout', { buffer = proposal, callback = function() finish('reject') end })
  api.nvim_echo({ { 'clawft proposes this change: :ClawftAccept or :ClawftReject', 'WarningMsg' } }, false, {})
end

function M.cancel(id) if M.reviews[id] then M.reviews[id]('reject') end end

function M.call(channel, id, method, params)
  M.channels[channel] = true
  watch_published()
  local said = false
  local function answer(result, problem)
    if said then return end
    said = true
    local told = problem and { error = { code = problem.clawft, message = problem.message } } or { result = null(result) }
    pcall(vim.rpcnotify, channel, 'clawft', id, told)
  end
  vim.schedule(function()
    local op = ops[method]
    if not op then return answer(nil, { clawft = 'failed', message = 'unknown operation ' .. method }) end
    local ok, problem = pcall(op, params, answer, id)
    if ok then return end
    if type(problem) == 'table' and problem.clawft then return answer(nil, problem) end
    answer(nil, { clawft = 'failed', message = tostring(problem) })
  end)
end

_G.Clawft = M
