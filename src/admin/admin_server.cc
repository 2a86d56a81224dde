#include "admin/admin.h"

#include "admin/access.h"
#include "admin/api.h"
#include "base/log.h"

namespace cassandra_like {
namespace {

class AdminServerImpl : public AdminServer {
 public:
  AdminServerImpl(AdminContextPtr context, std::unique_ptr<Listener> listener)
      : context_(std::move(context)), listener_(std::move(listener)) {}
  ~AdminServerImpl() override { context_->stopped = true; }
  uint16_t port() const override { return listener_->port(); }

 private:
  AdminContextPtr context_;  // shared with the commands that still run
  std::unique_ptr<Listener> listener_;
};

}  // namespace

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
  return std::unique_ptr<AdminServer>(std::make_unique<AdminServerImpl>(std::move(context), std::move(listener)));
}

}  // namespace cassandra_like
