#include "admin/admin.h"

#include "admin/access.h"
#include "admin/api.h"
#include "base/log.h"

namespace cassandra_like {

AdminServer::~AdminServer() { context_->stopped = true; }

Result<std::unique_ptr<AdminServer>> AdminServer::start(const SocketAddress& address, AdminNode node,
                                                        AdminHooks hooks) {
  const bool is_local = admin::is_loopback(address.host);
  TRY(admin::check_address(address.host, node.has_passwords));
  auto context = std::make_shared<AdminContext>();
  context->node = std::move(node);
  context->needs_login = !is_local;
  context->hooks = std::move(hooks);
  ASSIGN_OR_RETURN(auto listener, context->runtime().network.serve_http(address, [context](HttpRequest request) {
    return admin::serve(context, std::move(request));
  }));
  LOG_INFO("Starting the admin interface on {}{}", SocketAddress{address.host, listener->port()}.to_string(),
           is_local ? "" : " (with the roles' passwords)");
  return std::unique_ptr<AdminServer>(new AdminServer(std::move(context), std::move(listener)));
}

}  // namespace cassandra_like
